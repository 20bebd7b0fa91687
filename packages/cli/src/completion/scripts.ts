import type { CompletionCommand } from "./command-table.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** Returns the script that completes parley's commands, options and fixed values in a shell. */
export function createScript(shell: Shell, commands: readonly CompletionCommand[]): string {
  return { bash: createBashScript, zsh: createZshScript, fish: createFishScript }[shell](commands);
}

function createBashScript(commands: readonly CompletionCommand[]): string {
  return `# Completes parley in bash: source <(parley completion bash)
_parley() {
  local at="" next values="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${at:+$at }\${COMP_WORDS[i]}"
${indent(selectCommand(commands), 4)}
  done
${indent(selectValues(commands, `\${COMP_WORDS[COMP_CWORD - 1]}`), 2)}
  COMPREPLY=($(compgen -W "$values" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _parley parley
`;
}

function createZshScript(commands: readonly CompletionCommand[]): string {
  return `#compdef parley
# Completes parley in zsh: source <(parley completion zsh)
_parley() {
  local at="" next="" values="" i
  for ((i = 2; i < CURRENT; i++)); do
    next="\${at:+$at }\${words[i]}"
${indent(selectCommand(commands), 4)}
  done
${indent(selectValues(commands, `\${words[CURRENT - 1]}`), 2)}
  if [[ -n "$values" ]]; then compadd -- \${=values}; else _files; fi
}
compdef _parley parley
`;
}

/** Sets `at` to `next` if that is a command. */
function selectCommand(commands: readonly CompletionCommand[]): string {
  const paths = commands.flatMap(({ path }) => (path === "" ? [] : [quote(path)]));
  return `case "$next" in
  ${paths.join(" | ")}) at="$next" ;;
esac`;
}

/** Sets `values` to what may follow the command `at` and the previous word: an option's values, or commands, options and an argument's values. */
function selectValues(commands: readonly CompletionCommand[], previousWord: string): string {
  const optionCases = commands.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ flag, choices }) => `${quote(`${path} ${flag}`)}) values=${quote(choices.join(" "))} ;;`),
  );
  const commandCases = commands.map(({ path, subcommands, options, argumentChoices }) => {
    const words = [...subcommands.map(({ name }) => name), ...argumentChoices, ...options.map(({ flag }) => flag)];
    return `${quote(path)}) values=${quote(words.join(" "))} ;;`;
  });
  return `case "$at ${previousWord}" in
${indent(optionCases.join("\n"), 2)}
  *)
    case "$at" in
${indent(commandCases.join("\n"), 6)}
    esac
    ;;
esac`;
}

function createFishScript(commands: readonly CompletionCommand[]): string {
  const paths = commands.flatMap(({ path }) => (path === "" ? [] : [quoteFish(path)]));
  const lines = commands.flatMap(({ path, subcommands, options, argumentChoices }) => {
    const complete = `complete -c parley -n ${quoteFish(`__parley_at ${quoteFish(path)}`)}`;
    return [
      ...subcommands.map(({ name, description }) => `${complete} -a ${quoteFish(name)} -d ${quoteFish(description)}`),
      ...argumentChoices.map((value) => `${complete} -a ${quoteFish(value)}`),
      ...options.map(({ flag, description, takesValue, choices }) => {
        const values = choices.length > 0 ? ` -a ${quoteFish(choices.join(" "))}` : "";
        const value = takesValue ? ` -r${choices.length > 0 ? " -f" : ""}${values}` : "";
        return `${complete} -l ${flag.slice(2)}${value} -d ${quoteFish(description)}`;
      }),
    ];
  });
  return `# Completes parley in fish: parley completion fish | source
function __parley_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$at $word")
    contains -- $next ${paths.join(" ")}; and set at $next
  end
  test "$at" = "$argv[1]"
end
complete -c parley -f
${lines.join("\n")}
`;
}

function indent(text: string, columns: number): string {
  return text.replace(/^(?=.)/gm, " ".repeat(columns));
}

/** Quotes a text for bash and zsh. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function quoteFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
