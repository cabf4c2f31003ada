export { createJsonlBackend, type JsonlBackendOptions } from './backend.js'
export type { Disk } from './disk.js'
