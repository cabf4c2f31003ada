export { createSqliteBackend, type SqliteBackendOptions } from './backend.js'
