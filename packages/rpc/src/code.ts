/** The gRPC trailer or Connect header with an error's stable code, which is more specific than its status. */
export const CODE_METADATA_KEY = "parley-code";
