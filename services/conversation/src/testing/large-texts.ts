const MAX_CHARACTERS = 4 * 1024 * 1024;
const LETTERS = "etaoinshrdlucmfw";

/** Returns documents of almost 3 or almost 4 MiB, the same in every run. */
export function largeTexts(): { name: string; format: string; content: string }[] {
  const random = randomNumbers();
  const letters = (count: number) => Array.from({ length: count }, () => LETTERS[random(LETTERS.length)]).join("");
  const vocabulary = Array.from({ length: 20_000 }, () => letters(2 + random(9)));
  const word = () => vocabulary[random(vocabulary.length)] ?? "";
  const words = (count: number) => Array.from({ length: count }, word).join(" ");
  const sentence = () => `The ${words(6 + random(14))}.`;
  let number = 0;
  return [
    { name: "prose", format: "txt", content: fill(() => `${sentence()} ${sentence()} ${sentence()}\n\n`) },
    {
      name: "440,000 distinct words",
      format: "txt",
      content: Array.from({ length: 440_000 }, (_, at) => `q${at.toString(36)}x${at % 12 === 11 ? "." : ""}`).join(" "),
    },
    {
      name: "HTML",
      format: "html",
      content: fill(() => {
        const text = `<p>${sentence()} <a href="/docs/${++number}">${words(2)}</a> <code>${word()}.${word()}()</code> ${sentence()}</p>\n`;
        return number % 10 === 0 ? `<h2 id="s${number}">${words(4)}</h2>\n${text}` : text;
      }),
    },
    {
      name: "an HTML table",
      format: "html",
      content: `<table>${fill(() => `<tr><td>${word()}</td><td>${word()}</td><td><b>${word()}</b></td></tr>\n`)}`,
    },
    {
      name: "a Markdown table",
      format: "md",
      content: `| A | B | C |\n|---|---|---|\n${fill(() => `| ${word()} | ${words(2)} | **${word()}** |\n`)}`,
    },
  ];
}

/** Concatenates parts until they have almost MAX_CHARACTERS, with a reserve for the markup around them. */
function fill(part: () => string): string {
  const parts: string[] = [];
  for (let length = 0; length < MAX_CHARACTERS - 1_000; length += parts.at(-1)?.length ?? 0) parts.push(part());
  return parts.join("");
}

/** A linear congruential generator, which returns the same integers in every run. */
function randomNumbers(): (below: number) => number {
  let state = 1;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff;
    return Math.floor((state / 0x8000_0000) * below);
  };
}
