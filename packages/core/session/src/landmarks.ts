import type { RestoreOp, SessionEvent, SurfaceEventType, SurfaceOp } from './events.js'

/** What one surface event or restore did to the surface, without its data. */
export interface SurfaceMarker {
  readonly seq: number
  readonly type: SurfaceEventType | 'surface/restore'
  readonly surfaceOp: SurfaceOp | RestoreOp
  readonly sourceEventSeqs?: readonly number[]
}

/** All that a stored session must read to go on working; every other event is read when it is asked for. */
export interface SessionLandmarks {
  /** Of every surface event and restore, in log order. */
  markers: readonly SurfaceMarker[]
  /** The visible events, in surface order. */
  surface: readonly SessionEvent[]
  headers: readonly SessionEvent<'request/header'>[]
  /** Seqs of `turn/start`. */
  turns: readonly number[]
  /** Seqs of `step/start`. */
  steps: readonly number[]
  /** The events from the last `turn/start` on where no `turn/end` follows it, else none. */
  open: readonly SessionEvent[]
}
