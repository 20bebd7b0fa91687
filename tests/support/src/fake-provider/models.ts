import { defaultTokens, type Reply } from "./reply.ts";

type Rule = [pattern: RegExp, reply: (numbers: number[], prompt: string) => Reply];

/** Replies by model name. Each function gets the numbers in the name, and the prompt. A name that matches no pattern gets the default reply. */
const rules: Rule[] = [
  [/^echo$/, (_, prompt) => ({ tokens: prompt.match(/\s*\S+\s*$|\s*\S+/g) ?? [] })],
  [/^tokens-(\d+)(?:-every-(\d+))?$/, ([count = 0, everyMs = 0]) => ({ tokens: numberTokens(count), everyMs })],
  [
    /^first-(\d+)-tokens-(\d+)-every-(\d+)$/,
    ([firstTokenMs = 0, count = 0, everyMs = 0]) => ({ firstTokenMs, tokens: numberTokens(count), everyMs }),
  ],
  [/^slow-(\d+)$/, ([everyMs = 0]) => ({ everyMs })],
  [/^first-(\d+)$/, ([firstTokenMs = 0]) => ({ firstTokenMs })],
  [/^status-(\d{3})(?:-retry-(\d+))?$/, ([status = 500, retry]) => ({ status, headers: retryAfter(status, retry) })],
  [/^cut-after-(\d+)$/, ([afterTokens = 0]) => ({ fault: "cut", afterTokens })],
  [/^stall-after-(\d+)$/, ([afterTokens = 0]) => ({ fault: "stall", afterTokens })],
  [/^error-chunk(?:-after-(\d+))?$/, ([afterTokens = 3]) => ({ fault: "error", afterTokens })],
  [/^end-after-(\d+)$/, ([afterTokens = 0]) => ({ fault: "end", afterTokens })],
  [/^no-finish$/, () => ({ finishReason: null, hasDone: false })],
  [/^no-done$/, () => ({ hasDone: false })],
  [/^no-usage$/, () => ({ usage: null })],
  [/^length$/, () => ({ finishReason: "length" })],
  [/^content-filter$/, () => ({ finishReason: "content_filter" })],
  [/^empty$/, () => ({ tokens: [] })],
  [/^hang$/, () => ({ hangs: true })],
  [/^html$/, () => ({ headers: { "content-type": "text/html" }, body: "<!doctype html><title>Welcome</title>" })],
  [/^big-token$/, () => ({ tokens: ["x".repeat(256 * 1024)] })],
  [/^crlf$/, () => ({ newline: "\r\n" })],
  [/^comments$/, () => ({ hasComments: true })],
  [/^split-utf8$/, () => ({ tokens: ["Grüße", " 👋🏽", " 日本語", " \u{1F468}\u200D\u{1F469}"], bytesPerWrite: 1 })],
];

/** Returns the reply of a model to a prompt. */
export function replyOfModel(model: string, prompt: string): Reply {
  for (const [pattern, reply] of rules) {
    const match = pattern.exec(model);
    if (match)
      return reply(
        match
          .slice(1)
          .filter((text) => text !== undefined)
          .map(Number),
        prompt,
      );
  }
  return { tokens: defaultTokens };
}

/** The models in the response of `GET /v1/models`. */
export const listedModels = ["default", "echo", "tokens-100", "tokens-100-every-50", "slow-50", "split-utf8"];

function numberTokens(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `t${index} `);
}

function retryAfter(status: number, seconds: number | undefined): Record<string, string> {
  const wait = seconds ?? (status === 429 ? 1 : undefined);
  return wait === undefined ? {} : { "retry-after": String(wait) };
}
