/** The trailer (gRPC) or header (Connect) that carries an error's stable code beside its status. */
export const CODE_METADATA_KEY = "parley-code";
