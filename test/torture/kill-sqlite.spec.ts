import { testKills } from './kill.js'

testKills('sqlite')
