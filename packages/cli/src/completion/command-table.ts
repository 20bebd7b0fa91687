import type { CommandUnknownOpts } from "@commander-js/extra-typings";

export type CompletionOption = {
  /** Such as `--workspace`. */
  flag: string;
  description: string;
  takesValue: boolean;
  /** The permitted values; empty if any value is permitted. */
  choices: readonly string[];
};

/** What may follow a command. */
export type CompletionCommand = {
  /** The command's words after `parley`, such as `key create`; empty for parley itself. */
  path: string;
  subcommands: readonly { name: string; description: string }[];
  options: readonly CompletionOption[];
  /** The permitted values of the command's arguments. */
  argumentChoices: readonly string[];
};

/** Lists parley itself and every command, from the definitions that also print the help. */
export function listCommands(command: CommandUnknownOpts, path = ""): CompletionCommand[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  return [
    {
      path,
      subcommands: subcommands.map((each) => ({ name: each.name(), description: each.description() })),
      options: options.flatMap(({ long, description, required, optional, argChoices = [] }) =>
        long ? [{ flag: long, description, takesValue: required || optional, choices: argChoices }] : [],
      ),
      argumentChoices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    },
    ...subcommands.flatMap((each) => listCommands(each, path === "" ? each.name() : `${path} ${each.name()}`)),
  ];
}
