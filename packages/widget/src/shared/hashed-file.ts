/** A file under /widget/ with its `sha384-…` integrity. */
export type HashedFile = readonly [file: string, integrity: string];
