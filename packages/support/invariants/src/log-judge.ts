import type { Session, SessionEvent } from '@palimpsest/session'
import { InvariantError } from './relation.js'
import { RELATIONS } from './relations.js'

/** Judges a whole log by every relation that a log alone can show: what `palimpsest doctor` does. */
export function checkLog(session: Session): InvariantError[] {
  const found: InvariantError[] = []
  judgeSession(session, error => found.push(error))
  return found
}

/** Judges what is in the log already, and returns what judges the events that come. */
export function judgeSession(session: Session, report: (error: InvariantError) => void): (event: SessionEvent) => void {
  const judges = RELATIONS.flatMap(({ name, judgeLog }) => (judgeLog ? [{ name, judge: judgeLog(session) }] : []))
  const judge = (event: SessionEvent): void => {
    for (const { name, judge } of judges) {
      const violation = judge(event)
      if (violation !== undefined) report(new InvariantError(name, violation, session.id))
    }
  }
  const replayed = session.length
  for (let seq = 0; seq < replayed; seq++) judge(session.at(seq)!)
  // An event of before may still be on its way to us, but only until all that is being told now was told.
  let isCatchingUp = true
  queueMicrotask(() => {
    isCatchingUp = false
  })
  return event => {
    isCatchingUp &&= event.seq < replayed
    if (!isCatchingUp) judge(event)
  }
}
