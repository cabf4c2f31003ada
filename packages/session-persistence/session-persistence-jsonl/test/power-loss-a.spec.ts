import { testPowerLoss } from './power-loss.js'
import { REFERENCE_RUNS } from './reference-runs.js'

testPowerLoss(REFERENCE_RUNS.slice(0, 4))
