/** The name of a file under `/widget/`, and the file's integrity hash, `sha256-…`. */
export type HashedFile = readonly [file: string, integrity: string];
