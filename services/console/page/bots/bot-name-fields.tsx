import { BotChangesSchema } from "@parley/rpc/conversation";
import { MAX_SLUG_CHARACTERS } from "@parley/rpc/formats";
import { limitsOf } from "@parley/rpc/rules";
import { useState } from "react";
import { TextField } from "../components/field.tsx";
import { t } from "../i18n/t.tsx";

/**
 * The name of a new bot and its short name, which follows the name until the owner changes it. `initialSlug` is the short name for `initialName`,
 * which may contain no letters from a to z.
 */
export function useBotNames(initialName = "", initialSlug = "") {
  const [name, setName] = useState(initialName);
  const [typedSlug, setTypedSlug] = useState<string | undefined>();
  const slug = typedSlug ?? toSlug(name === initialName ? initialSlug : name);
  const fields = (
    <>
      <TextField
        label={t("Name")}
        hint={t("Visitors see it at the top of the chat.")}
        required
        maxLength={limitsOf(BotChangesSchema.field.name).max}
        value={name}
        onChange={({ target }) => setName(target.value)}
      />
      <TextField
        label={t("Short name")}
        hint={t("For commands and exports: lower-case letters, digits and hyphens. It cannot be changed later.")}
        required
        formatError={t("Use only the letters a to z, digits and hyphens.")}
        pattern="[a-z0-9\-]+"
        maxLength={MAX_SLUG_CHARACTERS}
        spellCheck={false}
        value={slug}
        onChange={({ target }) => setTypedSlug(target.value)}
      />
    </>
  );
  return { name: name.trim(), slug, fields };
}

function toSlug(name: string): string {
  const ascii = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return ascii
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, MAX_SLUG_CHARACTERS);
}
