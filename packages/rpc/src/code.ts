/** The name of the gRPC trailer or Connect header with an error's stable code. The code is more specific than the error's status. */
export const CODE_METADATA_KEY = "parley-code";
