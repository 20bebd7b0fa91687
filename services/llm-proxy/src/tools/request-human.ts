import { parseParameters, REQUEST_HUMAN } from "@parley/bot-rules/tools";
import type { CallableTool } from "./tool-call.ts";
import { createArgumentCheck, toToolFunction } from "./tool-function.ts";

const DESCRIPTION =
  "Asks a person of the team to take over this conversation. Call it if the visitor asks for a person, or if you cannot help the visitor and a person could.";
const RESULT =
  "A person has been asked. Tell the visitor so in one sentence, and that the visitor can go on writing meanwhile. Promise nothing else.";

const parameters = parseParameters('{"type":"object","properties":{}}');

/** The built-in tool that asks for a person. It only records the wish: the conversation service reads it from the reply's tool calls. */
export const requestHumanTool: CallableTool = {
  kind: "builtin",
  function: toToolFunction(REQUEST_HUMAN, DESCRIPTION, parameters),
  findProblem: createArgumentCheck(parameters),
  call: async () => RESULT,
};
