/** Ids tell so many blocks of a chunk apart. */
const mostBlocks = 4096

/** Numbers of a chunk, unless one block is larger: no allocation takes long, and little is held for nothing. */
const chunkNumbers = 2 ** 15

/** Blocks of the first chunk of a level; each that follows has as many as there are. */
const fewestBlocks = 4

/** Blocks of one size: as many slots as each tier of a bucket has there. */
export class Level {
  readonly rank: number
  readonly rooms: readonly number[]
  readonly size: number
  /** Chunks with blocks that are free. */
  readonly open: Chunk[] = []
  blocks = 0

  constructor(rank: number, rooms: readonly number[]) {
    this.rank = rank
    this.rooms = rooms
    this.size = rooms.reduce((sum, room) => sum + room, 0)
  }
}

/** Blocks that were allocated together. */
export class Chunk {
  readonly level: Level
  readonly index: number
  readonly cells: Float64Array
  readonly blocks: number
  used = 0
  /** The first of the blocks that were given back, and 1; each begins with the next. */
  #free = 0
  /** Blocks that were ever taken. */
  #touched = 0

  constructor(level: Level, index: number, blocks: number) {
    this.level = level
    this.index = index
    this.blocks = blocks
    this.cells = new Float64Array(blocks * level.size)
  }

  /** Where the block that an id leads to begins. */
  baseOf(id: number): number {
    return ((id - 1) & (mostBlocks - 1)) * this.level.size
  }

  take(): number {
    this.used++
    if (this.#free === 0) return this.#touched++
    const block = this.#free - 1
    this.#free = this.cells[block * this.level.size]!
    return block
  }

  give(block: number): void {
    this.used--
    this.cells[block * this.level.size] = this.#free
    this.#free = block + 1
  }
}

/** Blocks of several sizes for what entries of a table have no room for. An id leads to one; 0 is none. */
export class Extents {
  /** Bytes that they take. */
  bytes = 0
  readonly #chunks: (Chunk | undefined)[] = []
  /** Indexes of chunks that are gone. */
  readonly #gaps: number[] = []

  chunkOf(id: number): Chunk {
    return this.#chunks[(id - 1) >>> 12]!
  }

  /** Takes a block, whose numbers may be anything; 0 if it would pass `mostBytes`. */
  take(level: Level, mostBytes: number): number {
    const chunk = level.open.at(-1) ?? this.#added(level, mostBytes)
    if (chunk === undefined) return 0
    const block = chunk.take()
    if (chunk.used === chunk.blocks) level.open.pop()
    return chunk.index * mostBlocks + block + 1
  }

  give(id: number): void {
    const chunk = this.chunkOf(id)
    const { level } = chunk
    if (chunk.used === chunk.blocks) level.open.push(chunk)
    chunk.give((id - 1) & (mostBlocks - 1))
    // One is kept, so that a key at the edge does not have it allocated again and again.
    if (chunk.used === 0 && (level.open.length > 1 || level.size > chunkNumbers)) this.#drop(chunk)
  }

  #added(level: Level, mostBytes: number): Chunk | undefined {
    const most = Math.max(1, Math.floor(chunkNumbers / level.size))
    const blocks = Math.min(most, Math.max(fewestBlocks, level.blocks))
    const bytes = blocks * level.size * 8
    if (this.bytes + bytes > mostBytes) return undefined
    try {
      const index = this.#gaps.pop() ?? this.#chunks.length
      const chunk = new Chunk(level, index, blocks)
      this.#chunks[index] = chunk
      level.open.push(chunk)
      level.blocks += blocks
      this.bytes += bytes
      return chunk
    } catch (error) {
      if (error instanceof RangeError) return undefined
      throw error
    }
  }

  #drop(chunk: Chunk): void {
    const { level } = chunk
    level.open.splice(level.open.indexOf(chunk), 1)
    level.blocks -= chunk.blocks
    this.#chunks[chunk.index] = undefined
    this.#gaps.push(chunk.index)
    this.bytes -= chunk.cells.byteLength
  }
}
