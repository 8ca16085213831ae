/*
 * pqformat - the part of the Parquet format that strata writes and reads.
 *
 *	"PAR1"
 *	row groups, each
 *	    column chunk of the keys
 *	        page header       thrift, PQ_PAGE_*
 *	        compressed page   the values one after the other; each is a length (4
 *	                          bytes, little-endian), then its bytes
 *	    column chunk of the contents, in the same form
 *	footer                    thrift, PQ_FILE_*
 *	length of the footer, 4 bytes, little-endian
 *	"PAR1"
 *
 * Both columns are required and not nested.  So no value is null, and the pages have none of the
 * levels that Parquet uses for nulls and lists.  A column chunk is one page.  The footer has the
 * offset of each page header.  Bytes between column chunks are unused.
 *
 * The numbers below are those of parquet.thrift in apache/parquet-format.
 */
#pragma once
#include <stdint.h>

#define PQ_MAGIC "PAR1"
#define PQ_MAGIC_LEN 4
#define PQ_TAIL_LEN 8   /* length of the table's end: the length of the footer, and the magic */
#define PQ_LENGTH_LEN 4 /* number of bytes of the length that precedes each value */
#define PQ_VERSION 1

/*
 * Limits of strata, which Parquet does not require.  The writer obeys them, and the reader refuses
 * larger values.
 */
/* maximum number of bytes of both pages together, in a group with several rows */
#define PQ_GROUP ((size_t)16 << 20)
/* maximum number of bytes of a page that is read as a whole */
#define PQ_PAGE_MAX (PQ_GROUP + PQ_LENGTH_LEN)
#define PQ_KEY_MAX ((size_t)1 << 20)      /* bytes of one key */
#define PQ_KEYS_MAX ((uint64_t)256 << 20) /* bytes of all keys, with the length before each */
#define PQ_ROWS_MAX ((uint64_t)1 << 24)   /* number of rows */
#define PQ_FOOTER_MAX ((size_t)64 << 20)  /* bytes of the footer */
#define PQ_STATISTIC_MAX ((size_t)256)    /* bytes of a key in the statistics of a chunk */
#define PQ_PAGE_HEADER_MAX ((size_t)64)   /* bytes of a page header */

enum { PQ_KEY, PQ_CONTENT, PQ_COLUMNS };

enum { PQ_TYPE_BYTE_ARRAY = 6 };
enum { PQ_REPETITION_REQUIRED = 0 };
enum { PQ_CONVERTED_UTF8 = 0 };
enum { PQ_ENCODING_PLAIN = 0, PQ_ENCODING_RLE = 3 };
enum { PQ_CODEC_SNAPPY = 1, PQ_CODEC_ZSTD = 6 };
enum { PQ_PAGE_TYPE_DATA = 0 };

/* Fields of FileMetaData. */
enum {
	PQ_FILE_VERSION = 1,
	PQ_FILE_SCHEMA = 2,
	PQ_FILE_ROWS = 3,
	PQ_FILE_GROUPS = 4,
	PQ_FILE_CREATED_BY = 6,
	PQ_FILE_ORDERS = 7,
};

/* Fields of SchemaElement.  The first element is the root, and its children follow. */
enum {
	PQ_SCHEMA_TYPE = 1,
	PQ_SCHEMA_REPETITION = 3,
	PQ_SCHEMA_NAME = 4,
	PQ_SCHEMA_CHILDREN = 5,
	PQ_SCHEMA_CONVERTED = 6,
	PQ_SCHEMA_LOGICAL = 10,
};

/*
 * Fields of LogicalType and ColumnOrder.  Both are unions, so only one of their fields is present.
 */
enum { PQ_LOGICAL_STRING = 1 };
enum { PQ_ORDER_OF_TYPE = 1 };

/* Fields of RowGroup. */
enum {
	PQ_GROUP_COLUMNS = 1,
	PQ_GROUP_RAW_SIZE = 2, /* includes page headers, as does every size of a chunk */
	PQ_GROUP_ROWS = 3,
	PQ_GROUP_OFFSET = 5,
	PQ_GROUP_SIZE = 6,
};

/* Fields of ColumnChunk. */
enum {
	PQ_CHUNK_OFFSET = 2, /* offset of metadata outside the footer; 0: none */
	PQ_CHUNK_META = 3,
};

/* Fields of ColumnMetaData. */
enum {
	PQ_META_TYPE = 1,
	PQ_META_ENCODINGS = 2,
	PQ_META_PATH = 3,
	PQ_META_CODEC = 4,
	PQ_META_VALUES = 5,
	PQ_META_RAW_SIZE = 6,
	PQ_META_SIZE = 7,
	PQ_META_PAGE = 9, /* offset of the page header */
	PQ_META_STATISTICS = 12,
};

/* Fields of Statistics. */
enum {
	PQ_STATISTICS_NULLS = 3,
	PQ_STATISTICS_MAX = 5,
	PQ_STATISTICS_MIN = 6,
	PQ_STATISTICS_MAX_EXACT = 7,
	PQ_STATISTICS_MIN_EXACT = 8,
};

/* Fields of PageHeader. */
enum {
	PQ_PAGE_TYPE = 1,
	PQ_PAGE_RAW_SIZE = 2,
	PQ_PAGE_SIZE = 3,
	PQ_PAGE_DATA = 5,
};

/* Fields of DataPageHeader. */
enum {
	PQ_DATA_VALUES = 1,
	PQ_DATA_ENCODING = 2,
	PQ_DATA_DEFINITIONS = 3,
	PQ_DATA_REPETITIONS = 4,
};
