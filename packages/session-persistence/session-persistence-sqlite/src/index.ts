export { createSqliteBackend, type SqliteBackendOptions } from './backend.js'
export { SCHEMA_VERSION } from './schema.js'
