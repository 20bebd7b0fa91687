import { cpuMsOf } from "@parley/test-support";
import { describe, expect, test } from "vitest";
import { estimateTokens } from "./estimate-tokens.ts";

// Texts with their token counts by the o200k_base vocabulary.
const COUNTED: [name: string, tokens: number, text: string][] = [
  [
    "english",
    62,
    "Each assistant reply that reaches the visitor counts as one message. When the monthly quota is used up, the chat answers with a clear notice instead of a reply, and the owner can raise the plan at any time. Quotas begin anew on the first day of each month, by the clock of the database.",
  ],
  ["short", 11, "Yes, you can export the whole conversation as JSON."],
  [
    "german",
    47,
    "Jede Antwort, die den Besucher erreicht, zählt als eine Nachricht. Ist das monatliche Kontingent aufgebraucht, zeigt der Chat einen deutlichen Hinweis statt einer Antwort, und der Eigentümer kann jederzeit einen größeren Tarif wählen.",
  ],
  [
    "french",
    46,
    "Chaque réponse qui parvient au visiteur compte pour un message. Quand le quota mensuel est épuisé, le chat affiche un avis clair au lieu d'une réponse, et le propriétaire peut changer de formule à tout moment.",
  ],
  [
    "spanish",
    42,
    "Cada respuesta que llega al visitante cuenta como un mensaje. Cuando se agota la cuota mensual, el chat muestra un aviso claro en lugar de una respuesta, y el propietario puede cambiar de plan en cualquier momento.",
  ],
  [
    "russian",
    47,
    "Каждый ответ, который доходит до посетителя, считается одним сообщением. Когда месячная квота исчерпана, чат показывает понятное уведомление вместо ответа, а владелец может сменить тариф в любое время.",
  ],
  [
    "greek",
    57,
    "Κάθε απάντηση που φτάνει στον επισκέπτη μετρά ως ένα μήνυμα. Όταν εξαντληθεί το μηνιαίο όριο, η συνομιλία δείχνει μια σαφή ειδοποίηση αντί για απάντηση.",
  ],
  [
    "chinese",
    55,
    "每一条送达访客的回复都计为一条消息。当月度配额用完时，聊天会显示清楚的提示而不是回复，所有者可以随时更换套餐。配额在每月的第一天重新开始。",
  ],
  [
    "japanese",
    66,
    "訪問者に届いた返信は、それぞれ一件のメッセージとして数えられます。月間の上限に達すると、チャットは返信の代わりに分かりやすい案内を表示し、所有者はいつでもプランを変更できます。",
  ],
  [
    "korean",
    53,
    "방문자에게 전달된 각 답변은 하나의 메시지로 계산됩니다. 월간 한도를 모두 사용하면 채팅은 답변 대신 명확한 안내를 표시하며, 소유자는 언제든지 요금제를 변경할 수 있습니다.",
  ],
  [
    "arabic",
    43,
    "كل رد يصل إلى الزائر يُحسب رسالة واحدة. عند استنفاد الحصة الشهرية تعرض المحادثة إشعارًا واضحًا بدلاً من الرد، ويمكن للمالك تغيير الخطة في أي وقت.",
  ],
  [
    "hindi",
    38,
    "आगंतुक तक पहुँचने वाला प्रत्येक उत्तर एक संदेश के रूप में गिना जाता है। मासिक सीमा समाप्त होने पर चैट उत्तर के बजाय एक स्पष्ट सूचना दिखाती है।",
  ],
  [
    "code",
    57,
    'export function settle(turns: Turn[], month: string): number {\n  const open = turns.filter((turn) => turn.month === month && turn.state !== "settled");\n  for (const turn of open) turn.state = "settled";\n  return open.length;\n}\n',
  ],
  [
    "markdown",
    71,
    "## Install\n\n1. Clone the repository.\n2. Run `npx --yes pnpm@12 start`.\n3. Open http://localhost:8080/ and say hello.\n\n| plan | messages a month |\n|---|---|\n| Free | 100 |\n| Pro | 5,000 |\n| Scale | 25,000 |\n",
  ],
  ["emoji", 20, "Great news 🎉🎉 your order is on its way 🚚 and should arrive tomorrow 😀👍"],
];

describe("estimateTokens", () => {
  test.each(COUNTED)("is within a third of the vocabulary's count: %s", (_, tokens, text) => {
    expect(estimateTokens(text)).toBeGreaterThan(tokens * 0.67);
    expect(estimateTokens(text)).toBeLessThan(tokens * 1.33);
  });

  test("is 0 for a blank text", () => {
    expect(estimateTokens("")).toBe(0);
    expect(estimateTokens(" \t ")).toBe(0);
  });

  test("takes less than 1 s of CPU time for a short text repeated 200,000 times", () => {
    for (const unit of ["a", "é", "ab\u0301", "aé", "1", "\n", "👍", "漢"]) {
      const estimate = () => expect(estimateTokens(unit.repeat(200_000))).toBeGreaterThan(0);
      expect(cpuMsOf(estimate)).toBeLessThan(1_000);
    }
  });

  test("estimates a long text within 15 % of the sum of its parts' estimates, and 60 texts of 4 MiB in less than 2 s of CPU time", () => {
    for (const [, , text] of COUNTED) {
      const times = Math.ceil(200_000 / text.length);
      const sum = estimateTokens(text) * times;
      const estimate = estimateTokens(text.repeat(times));
      expect(estimate).toBeGreaterThan(sum * 0.85);
      expect(estimate).toBeLessThan(sum * 1.15);
    }
    // Sixty of the longest completions may be cancelled together, and each needs an estimate.
    const reply = "\u0001".repeat(4 * 1024 * 1024);
    const cpuMs = cpuMsOf(() => {
      for (let generation = 0; generation < 60; generation++) estimateTokens(reply);
    });
    expect(cpuMs).toBeLessThan(2_000);
  });
});
