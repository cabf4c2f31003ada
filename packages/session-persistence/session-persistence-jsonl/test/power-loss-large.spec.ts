import { testPowerLoss } from './power-loss.js'
import { LARGE_RUN } from './reference-runs.js'

// Each of its disks costs many times as much to look at.
testPowerLoss([LARGE_RUN], 1 / 16)
