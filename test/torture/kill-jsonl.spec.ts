import { testKills } from './kill.js'

testKills('jsonl')
