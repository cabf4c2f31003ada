import { type Agent, createHost, type Host, type Plugin, type Scope } from '@palimpsest/host'
import { Session, type UserMessage } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'

/** The least that can announce itself. */
function fakeAgent(session: Session, id = session.id): Agent {
  return { id, session, status: 'idle' } as Agent
}

function plug(host: Host, setup: (ctx: Scope) => unknown, name = 'p') {
  return host.use({ name, setup: ctx => void setup(ctx) })
}

function collecting() {
  const errors: [unknown, string][] = []
  return { errors, host: createHost({ onError: (error, source) => errors.push([error, source]) }) }
}

const appendTo = (session: Session) => session.append('turn/start', { turn: 1 })

describe('adopt', () => {
  test('makes a session heard until it is disposed', async () => {
    const host = createHost()
    const heard: unknown[] = []
    await plug(host, ctx => {
      ctx.on('session/adopted', session => heard.push(['adopted', session.id]))
      ctx.on('session/event', (event, session) => heard.push([event, session]))
      ctx.on('session/disposed', session => heard.push(['disposed', session.id, host.sessions.size]))
    })
    const session = Session.create({ id: 's' })
    const adoption = host.adopt(session)
    const event = appendTo(session)
    expect(host.sessions.get('s')).toBe(session)
    adoption.dispose()
    adoption.dispose()
    appendTo(session)
    expect(heard).toEqual([
      ['adopted', 's'],
      [event, session],
      ['disposed', 's', 0],
    ])
  })

  test('the same session twice is the same adoption', async () => {
    const host = createHost()
    const heard: number[] = []
    await plug(host, ctx => ctx.on('session/event', ({ seq }) => heard.push(seq)))
    const session = Session.create()
    expect(host.adopt(session)).toBe(host.adopt(session))
    appendTo(session)
    expect(heard).toEqual([0])
    host.adopt(session).dispose()
    expect(host.adopt(session)).toBe(host.adopt(session))
    expect(host.sessions.size).toBe(1)
  })

  test('a session that was opened again takes the place of the old one', async () => {
    const host = createHost()
    const heard: string[] = []
    await plug(host, ctx => {
      ctx.on('session/disposed', () => heard.push('disposed'))
      ctx.on('session/event', () => heard.push('event'))
    })
    const [old, young] = [Session.create({ id: 's' }), Session.create({ id: 's' })]
    const adoption = host.adopt(old)
    host.adopt(young)
    adoption.dispose()
    appendTo(old)
    appendTo(young)
    expect(heard).toEqual(['disposed', 'event'])
    expect(host.sessions.get('s')).toBe(young)
  })

  test('takes whatever behaves like a session', () => {
    const session = Session.create({ id: 's' })
    const wrapped = Object.create(null, {
      id: { value: 's' },
      on: { value: session.on.bind(session) },
    }) as Session
    const host = createHost()
    host.adopt(wrapped)
    expect(host.sessions.get('s')).toBe(wrapped)
  })
})

describe('agents', () => {
  test('are known from agent/created to agent/disposed', async () => {
    const host = createHost()
    const heard: unknown[] = []
    const agent = fakeAgent(Session.create({ id: 's' }))
    await plug(host, ctx => {
      ctx.on('agent/created', one => heard.push(['created', host.agents.get('s') === one]))
      ctx.on('agent/status', (status, one) => heard.push([status, one === agent]))
      ctx.on('agent/disposed', () => heard.push(['disposed', host.agents.size]))
    })
    host.emit('agent/created', agent)
    host.emit('agent/status', 'running', agent)
    host.emit('agent/disposed', agent)
    expect(heard).toEqual([
      ['created', true],
      ['running', true],
      ['disposed', 0],
    ])
  })
})

describe('an agent that took the name of another', () => {
  test('keeps it when the other one goes', () => {
    const host = createHost()
    const session = Session.create({ id: 's' })
    const [old, young] = [fakeAgent(session), fakeAgent(session)]
    host.emit('agent/created', old)
    host.emit('agent/created', young)
    host.emit('agent/disposed', old)
    expect(host.agents.get('s')).toBe(young)
  })
})

describe('listeners', () => {
  test('that throw or reject stop nothing, and are reported with the plugin’s name', async () => {
    const { host, errors } = collecting()
    const heard: string[] = []
    const [thrown, rejected] = [new Error('thrown'), new Error('rejected')]
    await plug(
      host,
      ctx => {
        ctx.on('session/event', () => {
          throw thrown
        })
        ctx.on('session/event', () => Promise.reject(rejected))
      },
      'bad',
    )
    await plug(host, ctx => ctx.on('session/event', () => heard.push('good')), 'good')
    const session = Session.create()
    host.adopt(session)
    appendTo(session)
    await new Promise(resolve => setImmediate(resolve))
    expect(heard).toEqual(['good'])
    expect(errors).toEqual([
      [thrown, 'bad'],
      [rejected, 'bad'],
    ])
  })

  test('that append where nobody may are reported, and the log is as it was', async () => {
    const { host, errors } = collecting()
    await plug(host, ctx => ctx.on('session/event', (_, session) => void appendTo(session)))
    const session = Session.create()
    host.adopt(session)
    appendTo(session)
    expect(session.length).toBe(1)
    expect(errors).toMatchObject([[{ code: 'REENTRANT_APPEND' }, 'p']])
  })

  test('hear everything in one order, also what another listener causes', async () => {
    const host = createHost()
    const agent = fakeAgent(Session.create())
    const heard: string[] = []
    await plug(host, ctx => {
      ctx.on('agent/status', status => {
        if (status === 'running') host.emit('agent/status', 'idle', agent)
      })
      ctx.on('agent/status', status => heard.push(status))
    })
    host.emit('agent/status', 'running', agent)
    expect(heard).toEqual(['running', 'idle'])
  })

  test('taken off while others are told hear nothing more; added ones hear the next', async () => {
    const host = createHost()
    const session = Session.create()
    host.adopt(session)
    const heard: string[] = []
    await plug(host, ctx => {
      ctx.on('session/event', () => {
        off()
        ctx.on('session/event', () => heard.push('late'))
      })
      const off = ctx.on('session/event', () => heard.push('off'))
    })
    appendTo(session)
    expect(heard).toEqual([])
    appendTo(session)
    expect(heard).toEqual(['late'])
  })
})

describe('errors without onError', () => {
  const uncaught = async (run: () => void) => {
    const before = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    try {
      return await new Promise(resolve => {
        process.once('uncaughtException', resolve)
        run()
      })
    } finally {
      for (const listener of before) process.on('uncaughtException', listener)
    }
  }

  test('are thrown where nobody can overlook them, and not at the one who emits', async () => {
    const failure = new Error('nobody listens')
    const fails: Plugin = {
      name: 'p',
      setup: ctx =>
        void ctx.on('session/adopted', () => {
          throw failure
        }),
    }
    const host = createHost()
    await host.use(fails)
    expect(await uncaught(() => host.adopt(Session.create()))).toBe(failure)
    const worse = createHost({
      onError: () => {
        throw new Error('worse')
      },
    })
    await worse.use(fails)
    expect(await uncaught(() => worse.adopt(Session.create()))).toMatchObject({ message: 'worse' })
  })
})

describe('use', () => {
  test('a setup that throws or rejects: the plugin is refused, and all that it registered is gone', async () => {
    for (const fail of [
      () => {
        throw new Error('no')
      },
      () => Promise.reject(new Error('no')),
    ]) {
      const host = createHost()
      const heard: string[] = []
      const use = host.use({
        name: 'p',
        setup(ctx) {
          ctx.on('session/adopted', () => heard.push('adopted'))
          ctx.around('turn/admit', async () => ({ messages: [] }))
          return fail()
        },
      })
      await expect(use).rejects.toThrow('no')
      host.adopt(Session.create())
      expect(heard).toEqual([])
      expect(await admit(host, fakeAgent(Session.create()), ['a'])).toEqual(['a'])
    }
  })

  test('hears from setup on, before it resolves', async () => {
    const host = createHost()
    const heard: string[] = []
    const use = host.use({
      name: 'p',
      async setup(ctx) {
        ctx.on('session/adopted', () => heard.push('adopted'))
        await Promise.resolve()
      },
    })
    host.adopt(Session.create())
    await use
    expect(heard).toEqual(['adopted'])
  })

  test('dispose takes off everything, twice is once, and nothing can be registered after it', async () => {
    const host = createHost()
    const agent = fakeAgent(Session.create())
    const heard: string[] = []
    let ctx: Scope | undefined
    const plugin = await plug(host, given => {
      ctx = given
      given.on('session/event', () => heard.push('all'))
      given.forAgent(agent).on('session/event', () => heard.push('one'))
      given.around('turn/admit', async () => ({ messages: [] }))
    })
    await plugin.dispose()
    await plugin.dispose()
    host.adopt(agent.session)
    appendTo(agent.session)
    expect(heard).toEqual([])
    expect(await admit(host, agent, ['a'])).toEqual(['a'])
    expect(() => ctx?.on('session/event', () => {})).toThrow('disposed')
    expect(() => ctx?.forAgent(agent).around('turn/admit', async () => ({ messages: [] }))).toThrow('disposed')
  })

  test('dispose from its own listener takes off its others at once', async () => {
    const host = createHost()
    const heard: string[] = []
    const plugin = await plug(host, ctx => {
      ctx.on('session/adopted', () => void plugin.dispose())
      ctx.on('session/adopted', () => heard.push('second'))
    })
    host.adopt(Session.create())
    expect(heard).toEqual([])
  })

  test('lets a plugin report what it finds by itself', async () => {
    const { host, errors } = collecting()
    const found = new Error('found')
    await host.use({ name: 'looks', setup: ctx => ctx.report(found) })
    expect(errors).toEqual([[found, 'looks']])
  })

  test('gives a plugin the host', async () => {
    const host = createHost()
    let given: Host | undefined
    await host.use({
      name: 'p',
      setup(ctx) {
        given = ctx.host
      },
    })
    expect(given).toBe(host)
  })
})

describe('forAgent', () => {
  test('hears only that agent and its session', async () => {
    const host = createHost()
    const [mine, other] = [fakeAgent(Session.create({ id: 'mine' })), fakeAgent(Session.create({ id: 'other' }))]
    const heard: string[] = []
    await plug(host, ctx => {
      const scope = ctx.forAgent(mine)
      scope.on('session/adopted', ({ id }) => heard.push(`adopted ${id}`))
      scope.on('session/event', (_, { id }) => heard.push(`event ${id}`))
      scope.on('agent/status', (status, { id }) => heard.push(`${status} ${id}`))
      scope.on('model/request', (_request, _at, { id }) => heard.push(`request ${id}`))
    })
    for (const agent of [mine, other]) {
      host.adopt(agent.session)
      appendTo(agent.session)
      host.emit('agent/status', 'running', agent)
      host.emit(
        'model/request',
        { model: 'm', settings: {}, messages: [] },
        { session: agent.session, length: 1 },
        agent,
      )
    }
    expect(heard).toEqual(['adopted mine', 'event mine', 'running mine', 'request mine'])
  })

  test('handles only that agent', async () => {
    const host = createHost()
    const [mine, other] = [fakeAgent(Session.create()), fakeAgent(Session.create())]
    await plug(host, ctx => ctx.forAgent(mine).around('turn/admit', async () => ({ messages: [] })))
    expect(await admit(host, mine, ['a'])).toEqual([])
    expect(await admit(host, other, ['a'])).toEqual(['a'])
  })

  test('ends with the agent, after it heard of it', async () => {
    const host = createHost()
    const agent = fakeAgent(Session.create())
    host.adopt(agent.session)
    const heard: string[] = []
    await plug(host, ctx => {
      ctx.forAgent(agent).on('agent/disposed', () => heard.push('disposed'))
      ctx.forAgent(agent).on('session/event', () => heard.push('event'))
    })
    host.emit('agent/created', agent)
    host.emit('agent/disposed', agent)
    appendTo(agent.session)
    expect(heard).toEqual(['disposed'])
  })
})

/** What the handlers make of these texts. */
async function admit(host: Host, agent: Agent, texts: string[]): Promise<string[]> {
  const messages = texts.map((text): UserMessage => ({ role: 'user', content: [{ type: 'text', text }] }))
  const final = async (value: { messages: UserMessage[] }) => value
  const result = await host.intercept('turn/admit', { messages }, agent, final)
  return result.messages.map(({ content: [part] }) => (part as { text: string }).text)
}

describe('intercept', () => {
  const agent = fakeAgent(Session.create())
  const wrap = (word: string) => (ctx: Scope) =>
    ctx.around('tool/execute', async (_, next) => `${word}(${await next()})`)
  const run = (host: Host, final = async (value: unknown) => String(value)) =>
    host.intercept('tool/execute', 'value', agent, final)

  test('without handlers is the final function', async () => {
    expect(await run(createHost())).toBe('value')
  })

  test('the first registered is outermost, across plugins and scopes', async () => {
    const host = createHost()
    await plug(host, wrap('a'))
    await plug(host, ctx => wrap('b')(ctx.forAgent(agent)))
    await plug(host, wrap('c'))
    expect(await run(host)).toBe('a(b(c(value)))')
  })

  test('next passes the value on, or another one', async () => {
    const host = createHost()
    await plug(host, ctx => ctx.around('tool/execute', (_, next) => next('other' as never)))
    await plug(host, ctx => ctx.around('tool/execute', (_, next) => next()))
    expect(await run(host)).toBe('other')
  })

  test('next may be called again, or not at all', async () => {
    const host = createHost()
    const calls: number[] = []
    const plugin = await plug(host, ctx =>
      ctx.around('tool/execute', async (_, next) => [await next(), await next()].join()),
    )
    expect(await run(host, async () => String(calls.push(0)))).toBe('1,2')
    await plugin.dispose()
    await plug(host, ctx => ctx.around('tool/execute', () => 'cached'))
    expect(await run(host)).toBe('cached')
    expect(calls).toHaveLength(2)
  })

  test('rejects with what a handler or the final function throws', async () => {
    const host = createHost()
    await expect(
      run(host, () => {
        throw new Error('final')
      }),
    ).rejects.toThrow('final')
    await plug(host, ctx =>
      ctx.around('tool/execute', () => {
        throw new Error('handler')
      }),
    )
    await expect(run(host)).rejects.toThrow('handler')
  })

  test('a next that nobody awaits brings nothing down when it fails', async () => {
    const host = createHost()
    const unhandled: unknown[] = []
    const hear = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', hear)
    await plug(host, ctx =>
      ctx.around('tool/execute', async (_, next) => {
        void next()
        return 'at once'
      }),
    )
    expect(await run(host, () => Promise.reject(new Error('late')))).toBe('at once')
    await new Promise(resolve => setImmediate(resolve))
    process.off('unhandledRejection', hear)
    expect(unhandled).toEqual([])
  })

  test('a handler taken off before its turn is passed over', async () => {
    const host = createHost()
    const inner = { dispose: async () => {} }
    await plug(host, ctx =>
      ctx.around('tool/execute', async (_, next) => {
        await inner.dispose()
        return next()
      }),
    )
    Object.assign(inner, await plug(host, wrap('inner')))
    await plug(host, wrap('last'))
    expect(await run(host)).toBe('last(value)')
  })
})

describe('misuse', () => {
  /** The message of the `TypeError` that a plugin's setup dies of; nothing of the plugin stays. */
  async function refusal(setup: (ctx: Scope) => unknown): Promise<string> {
    const error = await plug(createHost(), setup).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(TypeError)
    return (error as TypeError).message
  }

  test('a name that there is not is refused at registration, with the names that there are', async () => {
    expect(await refusal(ctx => ctx.around('tool/execut' as never, (() => {}) as never))).toBe(
      "ctx.around: expected one of model/request, tool/execute, turn/admit, found 'tool/execut'; mend the name",
    )
    expect(await refusal(ctx => ctx.on('session/events' as never, () => {}))).toMatch(
      /session\/event, .*'session\/events'/,
    )
    expect(await refusal(ctx => ctx.on('turn/admit' as never, () => {}))).toContain("'turn/admit'")
    for (const name of [undefined, 5, Symbol('s'), {}, 'toString', '__proto__']) {
      expect(await refusal(ctx => ctx.on(name as never, () => {}))).toContain('expected one of')
      expect(await refusal(ctx => ctx.around(name as never, (() => {}) as never))).toContain('expected one of')
    }
  })

  test('what is no function is refused at registration; a plugin belongs to host.use', async () => {
    const plugin: Plugin = { name: 'retry', setup() {} }
    expect(await refusal(ctx => ctx.around('model/request', plugin as never))).toMatch(/found a plugin.*host\.use/)
    expect(await refusal(ctx => ctx.on('agent/status', plugin as never))).toMatch(/found a plugin.*host\.use/)
    for (const none of [undefined, null, 'f', {}, []]) {
      expect(await refusal(ctx => ctx.around('turn/admit', none as never))).toContain('expected a function, found')
      expect(await refusal(ctx => ctx.on('agent/status', none as never))).toContain('expected a function, found')
    }
  })

  test('forAgent takes an agent only: nothing would hear everything', async () => {
    for (const none of [undefined, null, 's', {}]) {
      expect(await refusal(ctx => ctx.forAgent(none as never))).toContain('expected an agent')
    }
  })

  test('use takes a plugin only', async () => {
    for (const none of [undefined, null, {}, { name: 'p' }, { setup() {} }, 'p']) {
      await expect(createHost().use(none as never)).rejects.toThrow(/expected a plugin/)
    }
    await expect(createHost().use((() => {}) as never)).rejects.toThrow(/call it/)
  })
})

describe('types', () => {
  test('tell what is heard', async () => {
    const host = createHost()
    await plug(host, ctx => {
      ctx.on('agent/status', (status, agent) => [status satisfies 'idle' | 'running' | 'disposed', agent.id])
      // @ts-expect-error there is no such event
      expect(() => ctx.on('agent/born', () => {})).toThrow(TypeError)
      // @ts-expect-error an outcome has chunks and seqs
      ctx.around('model/request', async () => 7)
    })
    // @ts-expect-error the subject is missing
    const wrong = () => host.emit('agent/status', 'idle')
    expect(wrong).toBeTypeOf('function')
  })
})
