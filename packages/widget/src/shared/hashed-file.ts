/** A file under /widget/ with its integrity hash, `sha384-…`. */
export type HashedFile = readonly [file: string, integrity: string];
