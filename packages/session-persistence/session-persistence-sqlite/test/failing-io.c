/*
 * Preloaded into a process, makes the n-th call fail that it makes on the files of one folder. What fails is
 * told by unlinking a name that no file has: "/failing-io/<calls>/<n>/<errno>/<isLasting>/<isShort>" sets the plan
 * and counts anew; unlinking "/failing-io/fired" succeeds once the fault has happened; "/failing-io/pause" lets all
 * calls through until it is unlinked again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { OPEN = 1, WRITE = 2, SYNC = 4, TRUNCATE = 8, UNLINK = 16, READ = 32, MKDIR = 64 };
enum { FILES = 4096 };

static struct { int calls, at, code, lasting, is_short, count, fired, full, paused; } plan;
static char watched[FILES];

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

static int is_ours(const char *path) {
  const char *folder = getenv("FAILING_IO_FOLDER");
  return folder != NULL && path != NULL && strstr(path, folder) != NULL;
}

static int is_watched(int fd) { return fd >= 0 && fd < FILES && watched[fd]; }

/* Whether this call is to fail; errno is set then. */
static int fails(int call) {
  if (!(plan.calls & call) || plan.paused) return 0;
  plan.count += 1;
  if (plan.at == 0 || plan.count < plan.at || (plan.count > plan.at && !plan.lasting)) return 0;
  plan.fired = 1;
  errno = plan.code;
  return 1;
}

static int watch(int fd, const char *path) {
  if (fd >= 0 && fd < FILES) watched[fd] = (char)is_ours(path);
  return fd;
}

#define OPENING(name)                                          \
  int name(const char *path, int flags, ...) {                 \
    va_list rest;                                              \
    va_start(rest, flags);                                     \
    mode_t mode = va_arg(rest, mode_t);                        \
    va_end(rest);                                              \
    if (is_ours(path) && fails(OPEN)) return -1;               \
    return watch(REAL(name)(path, flags, mode), path);         \
  }

OPENING(open)
OPENING(open64)

int close(int fd) {
  if (fd >= 0 && fd < FILES) watched[fd] = 0;
  return REAL(close)(fd);
}

/* How much of a write goes through: all, half of it and then nothing more, or -1. */
static ssize_t allowed(int fd, size_t size) {
  if (!is_watched(fd)) return (ssize_t)size;
  if (plan.full && !plan.paused) {
    plan.full = plan.lasting;
    errno = ENOSPC;
    return -1;
  }
  if (!fails(WRITE)) return (ssize_t)size;
  if (!plan.is_short || size < 2) return -1;
  plan.full = 1;
  return (ssize_t)(size / 2);
}

ssize_t write(int fd, const void *bytes, size_t size) {
  ssize_t most = allowed(fd, size);
  return most < 0 ? -1 : REAL(write)(fd, bytes, (size_t)most);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
  ssize_t most = allowed(fd, size);
  return most < 0 ? -1 : REAL(pwrite)(fd, bytes, (size_t)most, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset) {
  ssize_t most = allowed(fd, size);
  return most < 0 ? -1 : REAL(pwrite64)(fd, bytes, (size_t)most, offset);
}

ssize_t read(int fd, void *bytes, size_t size) {
  return is_watched(fd) && fails(READ) ? -1 : REAL(read)(fd, bytes, size);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset) {
  return is_watched(fd) && fails(READ) ? -1 : REAL(pread)(fd, bytes, size, offset);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t offset) {
  return is_watched(fd) && fails(READ) ? -1 : REAL(pread64)(fd, bytes, size, offset);
}

int fsync(int fd) { return is_watched(fd) && fails(SYNC) ? -1 : REAL(fsync)(fd); }

int fdatasync(int fd) { return is_watched(fd) && fails(SYNC) ? -1 : REAL(fdatasync)(fd); }

int ftruncate(int fd, off_t size) { return is_watched(fd) && fails(TRUNCATE) ? -1 : REAL(ftruncate)(fd, size); }

int ftruncate64(int fd, off64_t size) { return is_watched(fd) && fails(TRUNCATE) ? -1 : REAL(ftruncate64)(fd, size); }

int mkdir(const char *path, mode_t mode) { return is_ours(path) && fails(MKDIR) ? -1 : REAL(mkdir)(path, mode); }

int unlink(const char *path) {
  if (strcmp(path, "/failing-io/fired") == 0) {
    errno = ENOENT;
    return plan.fired ? 0 : -1;
  }
  if (strcmp(path, "/failing-io/pause") == 0) {
    plan.paused = !plan.paused;
    return 0;
  }
  if (strncmp(path, "/failing-io/", 12) == 0) {
    memset(&plan, 0, sizeof plan);
    return sscanf(path + 12, "%d/%d/%d/%d/%d", &plan.calls, &plan.at, &plan.code, &plan.lasting, &plan.is_short) == 5
               ? 0
               : (errno = EINVAL, -1);
  }
  return is_ours(path) && fails(UNLINK) ? -1 : REAL(unlink)(path);
}
