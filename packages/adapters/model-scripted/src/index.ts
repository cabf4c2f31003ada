export { type Script, type ScriptedReply, scriptedModel } from './scripted-model.js'
