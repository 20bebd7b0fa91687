/** The placeholder of the nonce in the built HTML. */
export const NONCE_PLACEHOLDER = "{{nonce}}";
/** The placeholder of the edge's address in the built HTML. */
export const EDGE_URL_PLACEHOLDER = "{{edge url}}";
