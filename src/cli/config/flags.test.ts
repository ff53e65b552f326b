import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { addRoleFlags } from './flags.ts'
import { option, optional, type Role } from './option.ts'
import { filePath, listOf, onOff, text } from './values.ts'

const role: Role = {
  name: 'edge',
  options: {
    dataDir: option({ type: filePath, default: 'd', description: 'where' }),
    autoApprove: option({ type: onOff, default: 'true', description: 'whether' }),
    target: optional({ type: listOf(text), alias: 'aim', description: 'which' }),
  },
}

function parsed(...args: string[]): unknown {
  const command = new Command().exitOverride()
  addRoleFlags(command, role)
  return command.parse(args, { from: 'user' }).opts()
}

describe('addRoleFlags', () => {
  it('sets nothing that was not given, so that other sources are heard', () => {
    expect(parsed()).toEqual({})
  })

  it('takes values, switches both ways, and lists by repetition', () => {
    expect(parsed('--data-dir', 'x', '--auto-approve', '--config', 'f')).toEqual({
      dataDir: 'x',
      autoApprove: true,
      config: 'f',
    })
    expect(parsed('--no-auto-approve')).toEqual({ autoApprove: false })
    expect(parsed('--target', 'a', '--target=b,c')).toEqual({ target: 'a,b,c' })
  })

  it('takes another spelling of a flag, and does not show it', () => {
    expect(parsed('--aim', 'a', '--aim=b')).toEqual({ aim: 'a,b' })
    const command = new Command()
    addRoleFlags(command, role)
    expect(command.helpInformation()).not.toContain('--aim')
  })

  it('explains default and environment variable', () => {
    const command = new Command()
    addRoleFlags(command, role)
    const help = command.helpInformation().replaceAll(/\s+/g, ' ')
    expect(help).toContain('--data-dir <path> where (default: d) [CAUSEWAY_EDGE_DATA_DIR]')
    expect(help).toContain('--target <text,...> which [CAUSEWAY_EDGE_TARGET]')
    expect(help).toContain('[CAUSEWAY_EDGE_CONFIG]')
  })
})
