import type { ReceivedRequest, Reply } from "@parley/test-support";
import { ANSWERS, RECORDING_SLOWDOWN } from "./pictures/answers.ts";

/** The reply to the message "markdown". */
export const MARKDOWN = `Yes, with **two** limits and one *exception*:

1. Unused things, within \`30 days\`
2. In their box
   - a torn box is fine
   - a wet one is not

> Returns are free of charge.

\`\`\`
label --print
\`\`\`

More in [the returns page](https://shop.example/returns) or at https://shop.example/help.

<img src=x onerror="document.title='broken'"> [not a link](javascript:alert(1))`;

/** The reply to the message "table". */
export const TABLE = `We have ~~two~~ **three** plans:

| Plan | Messages | Price a month | Support | Regions |
| :--- | -------: | :-----------: | ------- | ------- |
| Free | 100 | 0 € | [Forum](/forum) | Europe |
| Pro | 5,000 | 19 €<br>(190 € a year) | [Email](mailto:help@shop.example) | Europe and America |
| Scale | 25,000 | 99 € | [Phone](tel:+49301234) | everywhere, in every data centre |

\`\`\`
parley workspace create --name shop --plan pro --domain shop.example --domain www.shop.example
\`\`\`

![The plans](https://shop.example/plans.png) See https://shop.example/plans（all plans）。`;

/** A Markdown reply in a right-to-left language. */
export const ARABIC = `نعم، بشرطين **اثنين**:

1. أن يكون غير مستعمل، خلال \`30\` يومًا
2. أن يكون في علبته

المزيد في [صفحة الإرجاع](https://shop.example/returns).`;

const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at + 1} `);

/** Returns the reply to the message `slow <count>`. */
export const slowReply = (count: number) => words(count).join("").trimEnd();

/** Returns `count` words, in paragraphs of 40 words. */
const paragraphs = (count: number) =>
  words(count)
    .map((word, at) => (at % 40 === 39 ? `${word}\n\n` : word))
    .join("");

/** Returns a numbered list with an empty line after each item. Each number and its period are in different tokens. */
const listItems = (count: number) =>
  Array.from({ length: count }, (_, at) => [`${at + 1}`, `. Item ${at + 1}\n\n`]).flat();

/**
 * Returns the fake provider's reply to the last message. The reply to a tool's result is that result. A message in ANSWERS gets its prepared
 * reply. Otherwise the first word of the message selects the reply, and a number after that word sets the number of words or list items.
 */
export function replyTo({ body }: ReceivedRequest): Reply {
  const { messages } = body as { messages: readonly { role: string; content: string }[] };
  const last = messages.at(-1);
  const message = last?.content ?? "";
  if (last?.role === "tool") {
    return { tokens: [message] };
  }
  const prepared = ANSWERS[message];
  if (prepared) {
    return {
      tokens: prepared.match(/\S+\s*/g) ?? [],
      firstTokenMs: 700 * RECORDING_SLOWDOWN,
      everyMs: 45 * RECORDING_SLOWDOWN,
    };
  }
  const [first = "", count = ""] = message.toLowerCase().split(/[:\s]+/);
  switch (first) {
    case "markdown":
      return { tokens: MARKDOWN.match(/.{1,7}/gs) ?? [], everyMs: 2 };
    case "table":
      return { tokens: TABLE.match(/.{1,7}/gs) ?? [], everyMs: 15 };
    case "عربي":
      return { tokens: ARABIC.match(/.{1,7}/gs) ?? [], everyMs: 2 };
    case "slow":
      return { tokens: words(Number(count) || 200), everyMs: 40 };
    case "list":
      return { tokens: listItems(Number(count) || 20), everyMs: 40 };
    case "late":
      return { tokens: ["Done."], firstTokenMs: 2_000 };
    case "think":
      return {
        preamble: Array.from({ length: 10 }, () => ({ choices: [{ index: 0, delta: { reasoning_content: "Hm, " } }] })),
        everyMs: 500,
        tokens: ["Done."],
      };
    case "refuse":
      return { tokens: words(20), everyMs: 40, finishReason: "content_filter" };
    case "never":
      return { hangs: true };
    case "long":
      return { tokens: paragraphs(Number(count) || 600).match(/(?:\S+\s*){1,10}/g) ?? [], everyMs: 40 };
    case "tall":
      return { tokens: [paragraphs(Number(count) || 600)] };
    case "tool":
      return { toolCalls: [{ name: "look_up", arguments: "{}" }] };
    case "quick":
      return { tokens: ["Done."] };
    default:
      return { tokens: `You asked: ${message}`.match(/\S+\s*/g) ?? [], everyMs: 10 };
  }
}
