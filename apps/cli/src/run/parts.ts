/** What a turn needs and no reading command does: loaded together, on demand. */
export { converse } from './conversation.js'
export { createDriver } from './driver.js'
export { workFolder } from './folder.js'
export { chooseModel } from './model.js'
export { parseAllow } from './permission.js'
export { SYSTEM } from './system.js'
export { openToolBox } from './tools.js'
