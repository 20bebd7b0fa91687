/** The name of the built-in tool with which a model asks for a person of the team. */
export const REQUEST_HUMAN = "request_human";
