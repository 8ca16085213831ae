// read.mjs READER TABLE - print a table as another program reads it: one line a row,
// the key in hex and the SHA-256 of the content.  READER is duckdb, hyparquet or
// parquet-wasm.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { stdout } from 'node:process'

let lines = []
function print(line) {
	lines.push(line)
	if (lines.length === 10000) flush()
}
function flush() {
	if (lines.length) stdout.write(lines.join('\n') + '\n')
	lines = []
}

function row(key, content) {
	if (typeof key !== 'string') throw new Error(`a key is no string but ${typeof key}`)
	if (!(content instanceof Uint8Array)) throw new Error(`a content is no bytes but ${typeof content}`)
	print(Buffer.from(key).toString('hex') + ' ' + createHash('sha256').update(content).digest('hex'))
}

async function duckdb(path) {
	const { DuckDBInstance } = await import('@duckdb/node-api')
	const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect()
	const from = `from read_parquet('${path.replaceAll("'", "''")}')`
	const types = await connection.runAndReadAll(`describe select * ${from}`)
	const found = types.getRowsJson().map((column) => `${column[0]} ${column[1]}`).join(', ')
	if (found !== 'key VARCHAR, content BLOB') throw new Error(`columns ${found}`)
	const result = await connection.stream(`select hex(encode(key)), sha256(content) ${from}`)
	for (;;) {
		const chunk = await result.fetchChunk()
		if (!chunk || chunk.rowCount === 0) break
		for (const [key, hash] of chunk.getRows()) print(key.toLowerCase() + ' ' + hash)
	}
	// The statistics must not hide a row.
	const [[rows]] = (await connection.runAndReadAll(`select count(*) ${from}`)).getRowsJson()
	const [[same]] = (await connection.runAndReadAll(
		`select count(*) ${from} where key >= (select min(key) ${from}) and key <= (select max(key) ${from})`,
	)).getRowsJson()
	if (rows !== same) throw new Error(`${same} of ${rows} keys between least and most`)
}

async function hyparquet(path) {
	const { asyncBufferFromFile, parquetMetadataAsync, parquetRead } = await import('hyparquet')
	const { compressors } = await import('hyparquet-compressors')
	const file = await asyncBufferFromFile(path)
	const metadata = await parquetMetadataAsync(file)
	let start = 0
	for (const group of metadata.row_groups) {
		const end = start + Number(group.num_rows)
		await parquetRead({
			file, metadata, compressors, utf8: false, rowStart: start, rowEnd: end,
			onComplete: (rows) => rows.forEach(([key, content]) => row(key, content)),
		})
		start = end
	}
	if (start !== Number(metadata.num_rows)) throw new Error(`${start} of ${metadata.num_rows} rows`)
}

async function parquetWasm(path) {
	const { readParquet } = await import('parquet-wasm')
	const { tableFromIPC } = await import('apache-arrow')
	const table = tableFromIPC(readParquet(readFileSync(path)).intoIPCStream())
	const found = table.schema.fields.map((field) => `${field.name} ${field.type} ${field.nullable}`).join(', ')
	if (found !== 'key Utf8 false, content Binary false') throw new Error(`columns ${found}`)
	for (const batch of table.batches) {
		const keys = batch.getChild('key'), contents = batch.getChild('content')
		for (let i = 0; i < batch.numRows; i++) row(keys.get(i), contents.get(i))
	}
}

const readers = { duckdb, hyparquet, 'parquet-wasm': parquetWasm }
const [, , reader, path] = process.argv
await readers[reader](path)
flush()
