import type { Sampling } from "./settings.ts";

type Effort = NonNullable<Sampling["reasoningEffort"]>;

/** What a family of OpenAI's models accepts in chat completions. */
type Family = {
  /** Matches the names of the family's models. */
  names: RegExp;
  /** The accepted values of reasoning_effort; empty if the models do not accept the setting. */
  efforts: readonly Effort[];
  /** Whether the models accept temperature and top_p. Some do only while they do not reason. */
  acceptsSampling: "always" | "never" | "without_reasoning";
  /** Whether the models reason if a request has no effort. */
  reasonsByDefault?: boolean;
};

/** The first family that matches applies. Names may end with a date. */
const FAMILIES: readonly Family[] = [
  { names: /^(gpt-5|gpt-4o(-mini)?)-search-/, efforts: [], acceptsSampling: "never" },
  { names: /^gpt-5-chat/, efforts: [], acceptsSampling: "always" },
  { names: /^gpt-5\.\d+-chat/, efforts: ["medium"], acceptsSampling: "never" },
  {
    names: /^gpt-5\.(1-codex-max|([2-9]|\d\d+)-codex)/,
    efforts: ["low", "medium", "high", "xhigh"],
    acceptsSampling: "never",
  },
  { names: /^gpt-5(\.1)?-codex/, efforts: ["low", "medium", "high"], acceptsSampling: "never" },
  { names: /^gpt-5-pro/, efforts: ["high"], acceptsSampling: "never" },
  { names: /^gpt-5\.\d+-pro/, efforts: ["medium", "high", "xhigh"], acceptsSampling: "never" },
  { names: /^gpt-5(?!\.)/, efforts: ["minimal", "low", "medium", "high"], acceptsSampling: "never" },
  { names: /^gpt-5\.1(?!\d)/, efforts: ["none", "low", "medium", "high"], acceptsSampling: "without_reasoning" },
  {
    names: /^gpt-5\.[2-4](?!\d)/,
    efforts: ["none", "low", "medium", "high", "xhigh"],
    acceptsSampling: "without_reasoning",
  },
  {
    names: /^gpt-5\./,
    efforts: ["none", "low", "medium", "high", "xhigh"],
    acceptsSampling: "without_reasoning",
    reasonsByDefault: true,
  },
  { names: /^o1-(mini|preview)/, efforts: [], acceptsSampling: "never" },
  { names: /^o\d/, efforts: ["low", "medium", "high"], acceptsSampling: "never" },
  { names: /^(gpt-[34]|chatgpt-)/, efforts: [], acceptsSampling: "always" },
];

/** What a model of OpenAI refuses of some settings. */
export type OpenAiRefusal = { setting: "temperature" | "topP" | "reasoningEffort"; rule: string };

/** Returns the first setting that a model of OpenAI refuses; undefined if it accepts all, or if the model is not known. */
export function findOpenAiRefusal(model: string, sampling: Sampling): OpenAiRefusal | undefined {
  // A fine-tuned model's name is `ft:<model>:<organization>:…`.
  const name = model.replace(/^ft:/, "");
  const family = FAMILIES.find(({ names }) => names.test(name));
  if (family === undefined) return undefined;
  const { efforts, acceptsSampling, reasonsByDefault = false } = family;
  const { reasoningEffort } = sampling;
  if (reasoningEffort !== undefined && !efforts.includes(reasoningEffort)) {
    const rule = efforts.length === 0 ? `is not accepted by ${model}` : `must be ${efforts.join(", ")} for ${model}`;
    return { setting: "reasoningEffort", rule };
  }
  if (acceptsSampling === "always") return undefined;
  const reasons = reasoningEffort === undefined ? reasonsByDefault : reasoningEffort !== "none";
  if (acceptsSampling === "without_reasoning" && !reasons) return undefined;
  const setting = (["temperature", "topP"] as const).find((each) => sampling[each] !== undefined);
  const condition = acceptsSampling === "never" ? "" : " while it reasons: set reasoning_effort to none";
  return setting && { setting, rule: `is not accepted by ${model}${condition}` };
}
