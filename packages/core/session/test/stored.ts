import { foldSurface, type ResumeOptions, Session, type SessionEvent, type SurfaceMarker } from '@palimpsest/session'
import { reread } from './samples.js'

/** The landmarks that a store would keep for a whole log, each object of its own. */
export function landmarksOf(log: readonly SessionEvent[]): ResumeOptions['landmarks'] {
  const events = reread(log)
  const ofType = (type: string) => events.filter(event => event.type === type)
  const markers = events.filter(event => event.surfaceOp !== undefined) as SurfaceMarker[]
  const turn = events.findLastIndex(event => event.type === 'turn/start')
  const closed = events.findLastIndex(event => event.type === 'turn/end') > turn
  return {
    markers: markers.map(({ seq, type, surfaceOp, sourceEventSeqs }) => ({
      seq,
      type,
      surfaceOp,
      ...(sourceEventSeqs && { sourceEventSeqs }),
    })),
    surface: foldSurface(markers).map(seq => events[seq]!),
    headers: ofType('request/header') as SessionEvent<'request/header'>[],
    turns: ofType('turn/start').map(event => event.seq),
    steps: ofType('step/start').map(event => event.seq),
    open: turn < 0 || closed ? [] : events.slice(turn),
  }
}

/** A store with synchronous reads: counts what is asked of it, and fails while `failing` says so. */
export class Store {
  readonly asked: [from: number, to: number][] = []
  failing: ((from: number, to: number) => unknown) | undefined

  constructor(private readonly log: readonly SessionEvent[]) {}

  readonly load = (from: number, to: number): SessionEvent[] => {
    this.asked.push([from, to])
    const failure = this.failing?.(from, to)
    if (failure instanceof Error) throw failure
    return failure === undefined ? reread(this.log.slice(from, to)) : (failure as SessionEvent[])
  }

  resume(options: Partial<ResumeOptions> = {}): Session {
    return Session.resume({
      header: { version: 0, id: 'stored', createdAt: 1 },
      length: this.log.length,
      landmarks: landmarksOf(this.log),
      load: this.load,
      ...options,
    })
  }
}
