import { Argument, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { listCommands } from "../completion/command-table.ts";
import { createScript, SHELLS } from "../completion/scripts.ts";
import type { Context } from "../context.ts";

export function addCompletionCommand(program: CommandUnknownOpts, { stdout }: Context): void {
  program
    .command("completion")
    .description("Print a script that completes commands and options.")
    .addArgument(new Argument("<shell>", "Choose the shell.").choices(SHELLS))
    .addHelpText(
      "after",
      `
bash, in ~/.bashrc: source <(parley completion bash)
zsh, in ~/.zshrc, after compinit: source <(parley completion zsh)
fish: parley completion fish > ~/.config/fish/completions/parley.fish`,
    )
    .action((shell) => {
      stdout.write(createScript(shell, listCommands(program)));
    });
}
