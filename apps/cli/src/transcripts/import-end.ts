/** The last event of an import: what stands before it was not written by the loop of this session. */
export const IMPORT_END = 'import/end'
