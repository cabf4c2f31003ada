// Preloaded into a worker: its wall clock is SKEW_MS off, in whatever way it is asked.
const skew = Number(process.env.SKEW_MS)
const { now } = Date
Date.now = () => now() + skew
globalThis.Date = class extends Date {
  constructor(...args) {
    if (args.length === 0) super(Date.now())
    else super(...args)
  }
}
