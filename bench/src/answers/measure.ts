import { randomUUID } from "node:crypto";
import { isDecline } from "../../../services/llm-proxy/src/providers/builtin/small-talk.ts";
import { createTenant, type System } from "../../../tests/system/system.ts";
import { visit } from "../../../tests/system/visitors.ts";
import { type Answer, type AnswerQuestion, type Business, type Half, readBusinesses } from "./businesses.ts";

export type Verdict = "right" | "wrong" | "too long" | "declined rightly" | "declined wrongly";

export type Answered = { business: Business; question: AnswerQuestion; reply: string; verdict: Verdict };

/** An answer is longer than this if its text and sources are too long for a chat. */
export const MAX_CHARACTERS = 400;
/** Shares of all questions of the test half. */
export const GOALS = { right: 0.85, wrong: 0.05 };

/** Asks a bot of each business its questions through the edge, as the widget does. Each question opens a session of its own. */
export async function measureAnswers(system: System, businesses = readBusinesses()): Promise<Answered[]> {
  const answered: Answered[] = [];
  for (const business of businesses) {
    const tenant = await createTenant(system.admin, { model: "builtin:extractive", plan: "scale" });
    const { workspaceId, botSlug } = tenant;
    for (const { name, format, text } of business.documents)
      await system.admin.knowledge.addSource({ workspaceId, botSlug, name, format, content: Buffer.from(text) });
    for (const question of business.questions) {
      const session_id = randomUUID();
      const ask = async (message: string) => {
        const result = await visit(system.url(), tenant, { session_id, message });
        if (result.kind !== "stream" || result.finishReason !== "stop") throw new Error(`no reply to "${message}"`);
        return result.chat.text;
      };
      if (question.after !== undefined) await ask(question.after);
      const reply = await ask(question.question);
      answered.push({ business, question, reply, verdict: judge(question, reply) });
    }
  }
  return answered;
}

function judge({ answer: answers }: AnswerQuestion, reply: string): Verdict {
  const answer = isAnswer(answers) ? answers : answers[today()];
  if (answer === undefined) throw new Error(`no answer on a ${today()}`);
  const isDeclined = isDecline(reply);
  if (answer === null) return isDeclined ? "declined rightly" : "wrong";
  if (isDeclined) return "declined wrongly";
  const parts = typeof answer === "string" ? [answer] : answer;
  if (!parts.every((part) => fold(reply).includes(fold(part)))) return "wrong";
  return reply.length > MAX_CHARACTERS ? "too long" : "right";
}

function isAnswer(answer: AnswerQuestion["answer"]): answer is Answer {
  return answer === null || typeof answer === "string" || Array.isArray(answer);
}

function today(): string {
  return new Intl.DateTimeFormat("en", { weekday: "long", timeZone: "UTC" }).format().toLowerCase();
}

/** Case, white space and the kinds of dashes and quotation marks do not matter. */
function fold(text: string): string {
  return text.toLowerCase().replace(/[–—]/g, "-").replace(/[“”„]/g, '"').replace(/\s+/g, " ");
}

export function countVerdicts(answered: readonly Answered[], half: Half): Record<Verdict, number> & { all: number } {
  const inHalf = answered.filter(({ business }) => business.half === half);
  const count = (verdict: Verdict) => inHalf.filter((each) => each.verdict === verdict).length;
  return {
    all: inHalf.length,
    right: count("right"),
    wrong: count("wrong"),
    "too long": count("too long"),
    "declined rightly": count("declined rightly"),
    "declined wrongly": count("declined wrongly"),
  };
}
