// client.mjs COMMAND [ARGUMENT...] - use an MCP server, which is 'strata mcp', with the official SDK.
//
// The server must have --allow-write, an environment with the files file ("one\n") and dir/list, and a
// folder "days" with the snapshots 2026-01-01 and 2026-01-02 of a file "file".  The SDK compares each
// structured result with the schema that the server has declared.  This script counts how often.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'

let validated = 0
class CountingValidator extends AjvJsonSchemaValidator {
	getValidator(schema) {
		const validate = super.getValidator(schema)
		return (value) => {
			validated++
			return validate(value)
		}
	}
}

const [, , command, ...args] = process.argv
const transport = new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' })
const capabilities = { roots: { listChanged: true } }
const client = new Client({ name: 'test', version: '1' }, { capabilities, jsonSchemaValidator: new CountingValidator() })
const errors = [], logged = []
client.onerror = (error) => errors.push(error)
client.setNotificationHandler(LoggingMessageNotificationSchema, (message) => logged.push(message.params))

// Call a tool that must succeed.  Returns its result, which the SDK must have validated.
async function tool(name, given = {}, options = {}) {
	const before = validated
	const result = await client.callTool({ name, arguments: given }, undefined, options)
	assert.ok(!result.isError, `${name}: ${result.content[0]?.text}`)
	assert.equal(validated, before + 1, `${name}: the result was not validated`)
	assert.equal(result.content[0].type, 'text')
	return { ...result.structuredContent, text: result.content[0].text }
}

async function failure(name, given = {}) {
	const result = await client.callTool({ name, arguments: given })
	assert.equal(result.isError, true, name)
	assert.equal(result.structuredContent, undefined, name)
	return result.content[0].text
}

async function beginning() {
	await client.connect(transport)
	assert.equal(client.getServerVersion().name, 'strata')
	assert.deepEqual(Object.keys(client.getServerCapabilities()).sort(),
		['completions', 'logging', 'prompts', 'resources', 'tools'])
	assert.match(client.getInstructions(), /undo/)
	assert.deepEqual(await client.ping(), {})
}

async function lists() {
	const { tools } = await client.listTools()
	const names = tools.map(({ name }) => name)
	for (const name of ['head', 'log', 'commit', 'cat', 'exec', 'checkout', 'list_datasets', 'list_hosts'])
		assert.ok(names.includes(name), name)
	assert.equal(new Set(names).size, names.length)
	for (const { name, title, inputSchema, outputSchema, annotations } of tools)
		assert.ok(title && inputSchema && outputSchema && annotations, name)
	// The validator that the SDK uses refuses a wrong result.
	const { outputSchema } = tools.find(({ name }) => name === 'head')
	assert.equal(new AjvJsonSchemaValidator().getValidator(outputSchema)({ id: 5 }).valid, false)
	const { resources } = await client.listResources()
	assert.deepEqual(resources.map(({ uri }) => uri), ['strata://log', 'strata://status'])
	const { resourceTemplates } = await client.listResourceTemplates()
	assert.deepEqual(resourceTemplates.map(({ uriTemplate }) => uriTemplate), ['strata://node/{id}/{path}'])
	const { prompts } = await client.listPrompts()
	assert.deepEqual(prompts.map(({ name }) => name).sort(), ['find-when-it-broke', 'undo-last', 'what-changed'])
}

async function history() {
	const first = (await tool('head')).id
	const made = await tool('commit', { message: 'second', allow_empty: true })
	assert.equal(made.made, true)
	const { nodes } = await tool('log', { limit: 1 })
	assert.deepEqual([nodes[0].message, nodes[0].id], ['second', (await tool('head')).id])
	assert.notEqual(nodes[0].id, first)
	const file = await tool('cat', { where: 'HEAD:file' })
	assert.deepEqual([file.content, file.text], ['one\n', 'one\n'])
	// Results of many shapes are valid, too.
	for (const [name, given] of [['status'], ['branches'], ['workspaces'], ['show'], ['ls', { where: 'HEAD' }],
		['diff', { a: 'HEAD~1', b: 'HEAD', patch: true }], ['file_log', { path: 'file' }], ['grep', { pattern: 'o' }],
		['find', { ref: 'HEAD', pattern: 'f*' }], ['blame', { path: 'file' }], ['ps'], ['tag', { name: 'good' }], ['undo'], ['redo'],
		['checkout', { ref: 'good' }], ['restore', { ref: 'HEAD~1', paths: ['file'] }], ['fork', { name: 'other', ref: 'good' }]])
		await tool(name, given)
	assert.match(await failure('checkout', { ref: 'nonsense' }), /nonsense/)
	assert.match(await failure('cat', { where: 'HEAD:dir' }), /is a directory[^]*Remedy: /)
	assert.match(await failure('log', { limit: 'many' }), /'limit'/)
	await assert.rejects(client.callTool({ name: 'no_tool' }), { code: -32602 })
}

async function questions() {
	const { datasets } = await tool('list_datasets')
	assert.ok(datasets.some(({ name }) => name === 'days'))
	assert.equal((await tool('file_history', { dataset: 'days', path: 'file' })).versions.length, 2)
	assert.equal((await tool('read_file', { snapshot: 'days@2026-01-01', path: 'file' })).content, 'old\n')
	assert.match(await failure('read_file', { snapshot: 'days@2026-01-01', path: 'missing' }), /missing/)
	await tool('list_snapshots', { dataset: 'days' })
	await tool('agent_info')
	await tool('list_hosts')
}

async function resources() {
	const read = async (uri) => (await client.readResource({ uri })).contents
	const [log] = await read('strata://log')
	assert.ok(JSON.parse(log.text).nodes.length >= 2)
	assert.equal((await read('strata://node/good/dir/list'))[0].text, 'a\nb\n')
	assert.equal((await read('strata://node/HEAD/binary'))[0].blob, '//4=')
	await assert.rejects(read('strata://node/HEAD/none'), /none/)
	const complete = async (name, value, filled) => (await client.complete({
		ref: { type: 'ref/resource', uri: 'strata://node/{id}/{path}' },
		argument: { name, value }, context: { arguments: filled },
	})).completion.values
	assert.deepEqual(await complete('id', 'go'), ['good'])
	assert.deepEqual(await complete('path', 'dir/l', { id: 'good' }), ['dir/list'])
}

async function prompts() {
	const { messages } = await client.getPrompt({ name: 'find-when-it-broke', arguments: { symptom: 'make fails' } })
	assert.match(messages[0].content.text, /make fails/)
	await assert.rejects(client.getPrompt({ name: 'find-when-it-broke' }), { code: -32602 })
}

async function logging() {
	for (const level of ['debug', 'emergency', 'info']) await client.setLoggingLevel(level)
	await assert.rejects(client.setLoggingLevel('loud'), { code: -32602 })
}

// A long command sends progress, and a client that gives up ends it.
async function longCall() {
	const steps = [], stop = new AbortController()
	const ended = tool('exec', { shell: 'echo begun; sleep 1000' }, {
		signal: stop.signal, resetTimeoutOnProgress: true,
		onprogress: (step) => {
			steps.push(step.progress)
			if (steps.length === 2) stop.abort('enough')
		},
	})
	await assert.rejects(ended, /enough/)
	assert.ok(steps[1] > steps[0], `progress ${steps}`)
	for (let i = 0; (await tool('ps')).text.includes('sleep 1000'); i++) {
		assert.ok(i < 100, 'the command is still there')
		await sleep(50)
	}
	// The next command does not wait for the cancelled one.
	const { stdout, exit_status } = await tool('exec', { shell: 'echo out; exit 3' })
	assert.deepEqual([stdout, exit_status], ['out\n', 3])
}

async function manyCalls() {
	const ids = await Promise.all(Array.from({ length: 200 }, () => client.callTool({ name: 'head' })))
	assert.equal(new Set(ids.map((result) => result.structuredContent.id)).size, 1)
}

const parts = [beginning, lists, history, questions, resources, prompts, logging, longCall, manyCalls]
try {
	for (const part of parts) {
		await part()
		console.log(part.name)
	}
} finally {
	await client.close()
}
assert.deepEqual(errors, [])
assert.ok(logged.every(({ level }) => level), 'a message without a level')
