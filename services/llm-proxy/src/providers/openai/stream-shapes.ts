/** A stream of a provider, and the reply that Parley must read from it. */
export type StreamShape = {
  /** The provider or gateway, and what is particular about the stream. */
  name: string;
  /** The events in order. An object is sent as a `data:` line; a string is sent as it is. */
  stream: readonly (object | string)[];
  /** The HTTP status; 200 if undefined. With another status, `stream` is the body. */
  status?: number;
  /** The text that the visitor gets; for a refusal, the text before it. Empty if a failure arrives together with the text. */
  text: string;
  /** The name and the arguments of each tool call. */
  calls?: readonly (readonly [name: string, args: string])[];
  /** How the reply ends: the finish detail of a complete reply, `blocked`, or the reason of a failure. */
  ending:
    | "stop"
    | "length"
    | "blocked"
    | "no_text"
    | "malformed"
    | "truncated"
    | "stream_error"
    | "http_500"
    | "http_429";
  /** The token counts of the provider, or zeros for a failure without text and counts; undefined if Parley estimates them. */
  tokens?: readonly [tokensIn: number, tokensOut: number];
};

const choice = (delta: object | null, finishReason: string | null = null, fields: object = {}) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finishReason }],
  ...fields,
});
const text = (content: string, finishReason: string | null = null) => choice({ content }, finishReason);
const role = choice({ role: "assistant", content: "" });
const finish = (reason: string) => choice({}, reason);
const calls = (...toolCalls: object[]) => choice({ tool_calls: toolCalls });
const call = (index: number | undefined, id: string | undefined, name: string | undefined, args?: unknown) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id, type: "function" }),
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
});
const counts = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };
const usage = { choices: [], usage: counts };
const done = "data: [DONE]\n\n";
const tokens = [12, 3] as const;

const stop = { ending: "stop", tokens } as const;
const ok = (name: string, stream: StreamShape["stream"]): StreamShape => ({ name, stream, text: "Hello", ...stop });
const PARIS = '{"city":"Paris"}';
const ROME = '{"city":"Rome"}';
const paris = [["weather", PARIS]] as const;
const both = [
  ["weather", PARIS],
  ["weather", ROME],
] as const;
const calling = (name: string, stream: StreamShape["stream"], expected: StreamShape["calls"] = paris): StreamShape => ({
  name,
  stream: [...stream, finish("tool_calls"), usage, done],
  text: "",
  calls: expected,
  ...stop,
});

const TEXTS: readonly StreamShape[] = [
  ok("OpenAI: a role, text, a finish reason, usage", [role, text("Hel"), text("lo"), finish("stop"), usage, done]),
  ok("OpenAI: `refusal`, `logprobs` and `obfuscation` that are null or padding", [
    choice({ role: "assistant", content: "", refusal: null }, null, { obfuscation: "x1y2", usage: null }),
    choice({ content: "Hello" }, null, { obfuscation: "z", service_tier: "default", usage: null }),
    finish("stop"),
    usage,
    done,
  ]),
  ok("Azure: the first chunk has only the prompt's filter results", [
    { choices: [], created: 0, id: "", model: "", object: "", prompt_filter_results: [{ prompt_index: 0 }] },
    role,
    text("Hello"),
    finish("stop"),
    usage,
    done,
  ]),
  ok("Azure: filter results in choices without a delta, also after the end", [
    { choices: [{ index: 0, finish_reason: null, content_filter_offsets: { check_offset: 44 } }] },
    text("Hello"),
    finish("stop"),
    { choices: [{ index: 0, finish_reason: null, content_filter_results: { hate: { filtered: false } } }] },
    usage,
    done,
  ]),
  ok("Gemini: the finish reason and the usage in the chunk with the last text", [
    choice({ role: "assistant", content: "Hel" }, null, { usage: { prompt_tokens: 12, completion_tokens: 1 } }),
    choice({ role: "assistant", content: "lo" }, "stop", { usage: counts }),
    done,
  ]),
  ok("Gemini: thoughts in the content, marked in `extra_content`", [
    choice({ content: "Let me see.", extra_content: { google: { thought: true } } }),
    text("Hello"),
    choice({ content: "", extra_content: { google: { thought_signature: "sig" } } }, "stop", { usage: counts }),
    done,
  ]),
  ok("Gemini: no [DONE]", [text("Hello", "stop"), usage]),
  ok("DeepSeek: reasoning before the text, content null", [
    choice({ role: "assistant", content: null, reasoning_content: "" }),
    choice({ content: null, reasoning_content: "Hm" }),
    choice({ content: "Hello", reasoning_content: null }),
    choice({ content: "", reasoning_content: null }, "stop", { usage: counts }),
    done,
  ]),
  ok("DeepSeek: comments while the request waits", [
    ": keep-alive\n\n: keep-alive\n\n",
    text("Hello"),
    finish("stop"),
    usage,
    done,
  ]),
  ok("Qwen: reasoning, then an empty first content", [
    choice({ reasoning_content: "Hm", content: null }),
    text(""),
    text("Hello"),
    finish("stop"),
    usage,
    done,
  ]),
  ok("Qwen: an empty think element", [text("<think>\n\n</think>\n\n"), text("Hello"), finish("stop"), usage, done]),
  ok("Mistral: the usage in the chunk with the finish reason", [
    role,
    text("Hello"),
    choice({ content: "" }, "stop", { usage: counts }),
    done,
  ]),
  ok("Mistral: content as parts, with thinking parts", [
    choice({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm" }] }] }),
    choice({ content: [{ type: "text", text: "Hel" }] }),
    text("lo"),
    finish("stop"),
    usage,
    done,
  ]),
  ok("Groq: the usage in `x_groq`", [
    choice({ role: "assistant", content: "" }, null, { x_groq: { id: "req_1" } }),
    choice({ reasoning: "Hm", channel: "analysis" }),
    text("Hello"),
    choice({}, "stop", { x_groq: { id: "req_1", usage: counts } }),
    done,
  ]),
  ok("Moonshot: the usage in the choice", [
    text("Hello"),
    { choices: [{ index: 0, delta: {}, finish_reason: "stop", usage: counts }] },
    done,
  ]),
  ok("Ollama: an empty content and `reasoning` in each chunk", [
    choice({ role: "assistant", content: "", reasoning: "Hm" }),
    choice({ role: "assistant", content: "Hello" }),
    choice({ role: "assistant", content: "" }, "stop"),
    usage,
    done,
  ]),
  ok("vLLM: `stop_reason`, `token_ids` and a usage in each chunk", [
    choice({ role: "assistant", content: "" }, null, { usage: { prompt_tokens: 12, completion_tokens: 0 } }),
    { ...choice({ content: "Hello" }, null, { usage: { prompt_tokens: 12, completion_tokens: 2 } }), token_ids: null },
    { choices: [{ index: 0, delta: { content: "" }, finish_reason: "stop", stop_reason: null }] },
    usage,
    done,
  ]),
  ok("llama.cpp: timings, and the usage in the chunk with the finish reason", [
    choice({ role: "assistant", content: null }),
    text("Hello"),
    choice({}, "stop", { usage: counts, timings: { prompt_n: 12, predicted_n: 3 } }),
    done,
  ]),
  ok("LM Studio: data without a space after the colon", [
    `data:${JSON.stringify(text("Hello"))}\n\n`,
    `data:${JSON.stringify(finish("stop"))}\n\n`,
    `data:${JSON.stringify(usage)}\n\n`,
    "data:[DONE]\n\n",
  ]),
  ok("OpenRouter: processing comments, reasoning details, usage last", [
    ": OPENROUTER PROCESSING\n\n",
    choice({
      role: "assistant",
      content: "",
      reasoning: "Hm",
      reasoning_details: [{ type: "reasoning.text", text: "Hm" }],
    }),
    ": OPENROUTER PROCESSING\n\n",
    text("Hello"),
    { choices: [{ index: 0, delta: { content: "" }, finish_reason: "stop", native_finish_reason: "STOP" }] },
    { ...choice({ role: "assistant", content: "" }), usage: counts },
    done,
  ]),
  ok("Anthropic: events with names and pings", [
    "event: ping\ndata: {}\n\n",
    text("Hello"),
    `event: message\ndata: ${JSON.stringify(finish("stop"))}\n\n`,
    usage,
    done,
  ]),
  ok("Bedrock gateway: CRLF, and `end_turn`", [
    `data: ${JSON.stringify(text("Hello"))}\r\n\r\n`,
    `data: ${JSON.stringify(finish("end_turn"))}\r\n\r\n`,
    `data: ${JSON.stringify(usage)}\r\n\r\ndata: [DONE]\r\n\r\n`,
  ]),
  ok("LiteLLM: thinking blocks and provider fields", [
    choice({ content: "", thinking_blocks: [{ type: "thinking", thinking: "Hm" }], provider_specific_fields: {} }),
    choice({ content: "Hello", provider_specific_fields: null }, null, { citations: null }),
    finish("stop"),
    usage,
    done,
  ]),
  ok("Perplexity: each chunk has a delta and the message so far", [
    { choices: [{ index: 0, delta: { content: "Hel" }, message: { content: "Hel" }, finish_reason: null }] },
    {
      choices: [{ index: 0, delta: { content: "lo" }, message: { content: "Hello" }, finish_reason: "stop" }],
      usage: counts,
    },
    done,
  ]),
  ok("a gateway: one chunk with the whole message", [
    { choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }], usage: counts },
    done,
  ]),
  ok("a gateway: the whole message again after the deltas", [
    text("Hello"),
    { choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }], usage: counts },
    done,
  ]),
  ok("a gateway: empty data lines and blank lines", [
    "data:\n\ndata: \n\n\n\n",
    text("Hello"),
    "data:\n\n",
    finish("stop"),
    usage,
    done,
  ]),
  ok("a gateway: `event:`, `id:` and `retry:` lines around an empty data line", [
    "retry: 3000\n\nevent: keepalive\nid: 1\ndata:\n\n",
    text("Hello"),
    finish("stop"),
    usage,
    done,
  ]),
  ok("a gateway: chunks without choices, with null choices and with a null delta", [
    { id: "x", object: "chat.completion.chunk" },
    { choices: null },
    choice(null),
    text("Hello"),
    finish("stop"),
    usage,
    done,
  ]),
  ok("a gateway: two finish chunks", [text("Hello"), finish("stop"), finish("stop"), usage, done]),
  ok("a gateway: a finish reason in every chunk", [text("Hel", "stop"), text("lo", "stop"), usage, done]),
  ok("a gateway: errors that are empty", [
    choice({ content: "Hello" }, null, { error: "" }),
    choice({}, "stop", { error: null }),
    usage,
    done,
  ]),
  ok("a gateway: counts of zero until the end, and after it", [
    choice({ content: "Hello" }, null, { usage: { prompt_tokens: 0, completion_tokens: 0 } }),
    finish("stop"),
    usage,
    { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } },
    done,
  ]),
  ok("a gateway: [DONE] without a finish reason", [text("Hello"), usage, done]),
  ok("a gateway: a last event without a blank line", [text("Hello"), usage, `data: ${JSON.stringify(finish("stop"))}`]),
  { name: "a server: no usage", stream: [text("Hello"), finish("stop"), done], text: "Hello", ending: "stop" },
  {
    name: "a server: a usage of strings",
    stream: [text("Hello"), finish("stop"), { choices: [], usage: { prompt_tokens: "12" } }, done],
    text: "Hello",
    ending: "stop",
  },
];

const THOUGHTS: readonly StreamShape[] = [
  ok("thoughts: an element before the text", [text("<think>Hm, 1 < 2.</think>\n\nHello"), finish("stop"), usage, done]),
  ok("thoughts: tags that are split between chunks, after white space", [
    text("\n <th"),
    text("ink>H"),
    text("m</thi"),
    text("nk"),
    text(">\n"),
    text("\nHel"),
    text("lo"),
    finish("stop"),
    usage,
    done,
  ]),
  ok("thoughts: a capital tag, `thinking`, and two elements", [
    text("<Thinking>a</Thinking> <think>b</think> Hello"),
    finish("stop"),
    usage,
    done,
  ]),
  {
    name: "thoughts: the tag later in the text is text",
    stream: [text("Write <think>a</think>"), text("<think>"), finish("stop"), usage, done],
    text: "Write <think>a</think><think>",
    ...stop,
  },
  {
    name: "thoughts: text that only begins like a tag",
    stream: [text("<thi"), text("s> is"), finish("stop"), usage, done],
    text: "<this> is",
    ...stop,
  },
  {
    name: "thoughts: text that ends like a tag",
    stream: [text("<think"), finish("stop"), usage, done],
    text: "<think",
    ...stop,
  },
  {
    name: "thoughts: leading white space is kept",
    stream: [text(" \n"), text(" Hello"), finish("stop"), usage, done],
    text: " \n Hello",
    ...stop,
  },
  {
    name: "thoughts: only thoughts",
    stream: [text("<think>Hm</think>\n"), finish("stop"), usage, done],
    text: "",
    ending: "no_text",
    tokens,
  },
  {
    name: "thoughts: an element that is not closed",
    stream: [text("<think>Hm, "), text("so"), finish("length"), usage, done],
    text: "",
    ending: "no_text",
    tokens,
  },
];

const CALLS: readonly StreamShape[] = [
  calling("OpenAI: arguments in parts, by index", [
    calls(call(0, "call_a", "weather", "")),
    calls(call(0, undefined, undefined, '{"city":')),
    calls(call(0, undefined, undefined, '"Paris"}')),
  ]),
  calling(
    "OpenAI: parallel calls, interleaved",
    [
      calls(call(0, "call_a", "weather", "")),
      calls(call(1, "call_b", "weather", "")),
      calls(call(1, undefined, undefined, ROME)),
      calls(call(0, undefined, undefined, PARIS)),
    ],
    both,
  ),
  calling("Gemini: a call with a thought signature", [
    calls({ ...call(0, "function-call-1", "weather", PARIS), extra_content: { google: { thought_signature: "sig" } } }),
  ]),
  calling(
    "Gemini: parallel calls with the index 0",
    [calls(call(0, "a", "weather", PARIS)), calls(call(0, "b", "weather", ROME))],
    both,
  ),
  calling(
    "Gemini: parallel calls with the index 0 and without ids",
    [calls(call(0, "", "weather", PARIS)), calls(call(0, "", "weather", ROME))],
    both,
  ),
  calling(
    "Gemini: parallel calls in one chunk, without ids and indexes",
    [calls(call(undefined, undefined, "weather", PARIS), call(undefined, undefined, "weather", ROME))],
    both,
  ),
  calling(
    "parallel calls without ids and indexes, in a chunk each",
    [calls(call(undefined, undefined, "weather", PARIS)), calls(call(undefined, undefined, "time", "{}"))],
    [
      ["weather", PARIS],
      ["time", "{}"],
    ],
  ),
  calling(
    "parallel calls of tools without parameters, without ids and indexes",
    [calls(call(undefined, undefined, "time", "")), calls(call(undefined, undefined, "ping", ""))],
    [
      ["time", "{}"],
      ["ping", "{}"],
    ],
  ),
  calling(
    "parallel calls by id alone, interleaved",
    [
      calls(call(undefined, "a", "weather", '{"city":'), call(undefined, "b", "weather", '{"city":')),
      calls(call(undefined, "b", undefined, '"Rome"}')),
      calls(call(undefined, "a", undefined, '"Paris"}')),
    ],
    both,
  ),
  calling("an id that changes with each delta at one index", [
    calls(call(0, "a", "weather", "")),
    calls(call(0, "b", undefined, '{"city":')),
    calls(call(0, "c", undefined, '"Paris"}')),
  ]),
  calling("an id and a repeated name with each delta at one index", [
    calls(call(0, "a", "weather", "")),
    calls(call(0, "b", "weather", '{"city":')),
    calls(call(0, "c", "weather", '"Paris"}')),
  ]),
  calling("a new id without a name, without an index", [
    calls(call(undefined, "a", "weather", "")),
    calls(call(undefined, "b", undefined, PARIS)),
  ]),
  calling("no id and no index after the first delta", [
    calls(call(0, "a", "weather", "")),
    calls(call(undefined, undefined, undefined, PARIS)),
  ]),
  calling("an index that grows with each delta", [
    calls(call(0, "a", "weather", "")),
    calls(call(1, undefined, undefined, '{"city":')),
    calls(call(2, undefined, undefined, '"Paris"}')),
  ]),
  calling("the whole name in each delta", [
    calls(call(0, "a", "weather", '{"city":')),
    calls(call(0, "a", "weather", '"Paris"}')),
  ]),
  calling("the name in parts", [
    calls(call(0, "a", "wea", "")),
    calls(call(0, undefined, "ther", "")),
    calls(call(0, undefined, undefined, PARIS)),
  ]),
  calling(
    "the name in parts, where the first part is another tool's name",
    [calls(call(0, "a", "time")), calls(call(0, "a", "_zone")), calls(call(0, "a", undefined, "{}"))],
    [["time_zone", "{}"]],
  ),
  calling("the name after the id", [calls(call(0, "a", undefined)), calls(call(0, undefined, "weather", PARIS))]),
  calling("the whole call again in the last chunk", [
    calls(call(0, "a", "weather", '{"city":')),
    calls(call(0, undefined, undefined, '"Paris"}')),
    calls(call(0, "a", "weather", PARIS)),
  ]),
  calling(
    "vLLM: the name in each delta, and null ids",
    [
      calls({ index: 0, id: "chatcmpl-tool-1", type: "function", function: { name: "weather" } }),
      calls({ index: 0, id: null, function: { name: null, arguments: '{"city": ' } }),
      calls({ index: 0, id: null, function: { name: null, arguments: '"Paris"}' } }),
    ],
    [["weather", '{"city": "Paris"}']],
  ),
  calling("Anthropic: `{}` before the arguments", [
    calls(call(0, "toolu_1", "weather", "{}")),
    calls(call(0, undefined, undefined, PARIS)),
  ]),
  calling("arguments as an object", [calls(call(0, "a", "weather", { city: "Paris" }))]),
  calling("arguments that are JSON in a JSON string", [calls(call(0, "a", "weather", JSON.stringify(PARIS)))]),
  calling("no arguments", [calls(call(0, "a", "time"))], [["time", "{}"]]),
  calling("empty arguments", [calls(call(0, "a", "time", ""))], [["time", "{}"]]),
  calling(
    "arguments that are null",
    [calls(call(0, "a", "time", null)), calls(call(0, "a", undefined, "null"))],
    [["time", "{}"]],
  ),
  calling(
    "two calls with the same id",
    [calls(call(0, "weather", "weather", PARIS), call(1, "weather", "weather", ROME))],
    both,
  ),
  calling("a number as the id, and the name beside the id", [
    calls({ index: 0, id: 7, name: "weather", arguments: PARIS }),
  ]),
  calling("the message with its calls, in one chunk", [
    {
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: null, tool_calls: [call(undefined, "a", "weather", PARIS)] },
          finish_reason: null,
        },
      ],
    },
  ]),
  {
    name: "`function_call`, the form before `tool_calls`",
    stream: [
      choice({ function_call: { name: "weather", arguments: "" } }),
      choice({ function_call: { arguments: PARIS } }),
      finish("function_call"),
      usage,
      done,
    ],
    text: "",
    calls: paris,
    ...stop,
  },
  {
    name: "calls with the finish reason `stop`",
    stream: [calls(call(0, "a", "weather", PARIS)), finish("stop"), usage, done],
    text: "",
    calls: paris,
    ...stop,
  },
  {
    name: "calls in the chunk with the finish reason",
    stream: [choice({ tool_calls: [call(0, "a", "weather", PARIS)] }, "tool_calls"), usage, done],
    text: "",
    calls: paris,
    ...stop,
  },
  {
    name: "the finish reason before the calls",
    stream: [finish("tool_calls"), calls(call(0, "a", "weather", PARIS)), usage, done],
    text: "",
    calls: paris,
    ...stop,
  },
  {
    name: "text before the calls",
    stream: [text("Let me see. "), calls(call(0, "a", "weather", PARIS)), finish("tool_calls"), usage, done],
    text: "Let me see. ",
    calls: paris,
    ...stop,
  },
  { name: "calls that are lost", stream: [finish("tool_calls"), usage, done], text: "", ending: "malformed", tokens },
];

const blocked = { ending: "blocked", tokens } as const;
const ENDINGS: readonly StreamShape[] = [
  {
    name: "a text that is cut",
    stream: [text("Hel"), finish("length"), usage, done],
    text: "Hel",
    ending: "length",
    tokens,
  },
  {
    name: "a text that is cut: `max_tokens`",
    stream: [text("Hel"), finish("max_tokens"), usage, done],
    text: "Hel",
    ending: "length",
    tokens,
  },
  {
    name: "a text that is cut: `MAX_TOKENS`, in the chunk with the text",
    stream: [text("Hel", "MAX_TOKENS"), usage, done],
    text: "Hel",
    ending: "length",
    tokens,
  },
  {
    name: "a text that is cut: Mistral's `model_length`",
    stream: [text("Hel"), finish("model_length"), usage, done],
    text: "Hel",
    ending: "length",
    tokens,
  },
  {
    name: "no text: `length` after reasoning",
    stream: [choice({ reasoning_content: "Hm" }), finish("length"), usage, done],
    text: "",
    ending: "no_text",
    tokens,
  },
  { name: "no text: `stop`", stream: [role, finish("stop"), usage, done], text: "", ending: "no_text", tokens },
  {
    name: "no text: white space and a zero-width space",
    stream: [text(" \n\u200b"), finish("stop"), usage, done],
    text: " \n\u200b",
    ending: "no_text",
    tokens,
  },
  { name: "no text: only a role and [DONE]", stream: [role, usage, done], text: "", ending: "no_text", tokens },
  {
    name: "no text: an unknown finish reason",
    stream: [finish("other"), usage, done],
    text: "",
    ending: "no_text",
    tokens,
  },
  {
    name: "a refusal: `content_filter` without text",
    stream: [role, finish("content_filter"), usage, done],
    text: "",
    ...blocked,
  },
  {
    name: "a refusal: `content_filter` after half a sentence",
    stream: [text("It is "), finish("content_filter"), usage, done],
    text: "It is ",
    ...blocked,
  },
  {
    name: "a refusal: `content_filter` in the chunk with the text",
    stream: [text("It is "), text("bad", "content_filter"), usage, done],
    text: "It is ",
    ...blocked,
  },
  {
    name: "a refusal: OpenAI's `refusal`",
    stream: [
      choice({ role: "assistant", content: "", refusal: "I'm" }),
      choice({ refusal: " sorry" }),
      finish("stop"),
      usage,
      done,
    ],
    text: "",
    ...blocked,
  },
  {
    name: "a refusal: OpenAI's `refusal` in a message",
    stream: [{ choices: [{ message: { content: null, refusal: "No" }, finish_reason: "stop" }], usage: counts }, done],
    text: "",
    ...blocked,
  },
  {
    name: "a refusal: Anthropic's `refusal`",
    stream: [text("I "), finish("refusal"), usage, done],
    text: "I ",
    ...blocked,
  },
  { name: "a refusal: Gemini's `SAFETY`", stream: [finish("SAFETY"), usage, done], text: "", ...blocked },
  {
    name: "a refusal: Gemini's `PROHIBITED_CONTENT`",
    stream: [finish("PROHIBITED_CONTENT"), usage, done],
    text: "",
    ...blocked,
  },
  {
    name: "a refusal: Gemini's `content_filter: RECITATION`",
    stream: [text("A"), finish("content_filter: RECITATION"), usage, done],
    text: "A",
    ...blocked,
  },
  {
    name: "a refusal: Bedrock's `guardrail_intervened`",
    stream: [finish("guardrail_intervened"), usage, done],
    text: "",
    ...blocked,
  },
  { name: "a refusal: `sensitive`", stream: [finish("sensitive"), usage, done], text: "", ...blocked },
  {
    name: "a refusal: after a tool call",
    stream: [calls(call(0, "a", "weather", PARIS)), finish("content_filter"), usage, done],
    text: "",
    ...blocked,
  },
  {
    name: "a refusal: an error in the stream",
    stream: [text("A"), usage, { error: { code: "content_filter", message: "m" } }],
    text: "A",
    ...blocked,
  },
  {
    name: "a refusal: OpenRouter's finish reason `error` with a moderation error",
    stream: [
      usage,
      { choices: [{ delta: {}, finish_reason: "error", error: { code: 403, metadata: { flagged_input: "x" } } }] },
    ],
    text: "",
    ...blocked,
  },
  {
    name: "a refusal: Azure's status 400",
    status: 400,
    stream: [
      JSON.stringify({
        error: { code: "content_filter", status: 400, innererror: { code: "ResponsibleAIPolicyViolation" } },
      }),
    ],
    text: "",
    ending: "blocked",
  },
  {
    name: "a refusal: OpenRouter's status 403",
    status: 403,
    stream: [JSON.stringify({ error: { code: 403, metadata: { reasons: ["x"], flagged_input: "x" } } })],
    text: "",
    ending: "blocked",
  },
  {
    name: "a refusal: DashScope's status 400",
    status: 400,
    stream: [JSON.stringify({ error: { code: "data_inspection_failed", type: "data_inspection_failed" } })],
    text: "",
    ending: "blocked",
  },
  {
    name: "a failure: OpenRouter's error in the stream",
    stream: [
      text("Hel"),
      { choices: [{ delta: { content: "" }, finish_reason: "error" }], error: { code: 500, message: "m" } },
      done,
    ],
    text: "",
    ending: "http_500",
    tokens: [0, 0],
  },
  {
    name: "a failure: vLLM's error in the stream",
    stream: [text("Hel"), { error: { object: "error", code: 500 } }, done],
    text: "",
    ending: "http_500",
    tokens: [0, 0],
  },
  {
    name: "a failure: a rate limit in the stream",
    stream: [text("Hel"), { error: { type: "rate_limit_exceeded" } }],
    text: "",
    ending: "http_429",
    tokens: [0, 0],
  },
  {
    name: "a failure: DeepSeek's `insufficient_system_resource`",
    stream: [text("Hel"), finish("insufficient_system_resource"), usage, done],
    text: "",
    ending: "stream_error",
    tokens,
  },
  {
    name: "a failure: vLLM's `abort`",
    stream: [text("Hel"), finish("abort"), done],
    text: "",
    ending: "stream_error",
    tokens: [0, 0],
  },
  {
    name: "a failure: Gemini's `MALFORMED_FUNCTION_CALL`",
    stream: [finish("MALFORMED_FUNCTION_CALL"), usage, done],
    text: "",
    ending: "stream_error",
    tokens,
  },
  { name: "a failure: the body ends after the text", stream: [text("Hel")], text: "Hel", ending: "truncated" },
  {
    name: "a failure: the body ends after reasoning",
    stream: [choice({ reasoning_content: "Hm" })],
    text: "",
    ending: "truncated",
    tokens: [0, 0],
  },
  {
    name: "a failure: the body ends within a tool call",
    stream: [text("A"), calls(call(0, "a", "weather", '{"ci'))],
    text: "A",
    ending: "truncated",
  },
  {
    name: "a failure: the body ends within an event",
    stream: [text("A"), 'data: {"choices":[{"del'],
    text: "A",
    ending: "malformed",
  },
];

export const STREAM_SHAPES: readonly StreamShape[] = [...TEXTS, ...THOUGHTS, ...CALLS, ...ENDINGS];
