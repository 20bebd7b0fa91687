import { AddRecipientRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { emails } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { languageName } from "../bots/language-name.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { SelectField, TextField } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { useFormReset } from "../components/use-form-reset.ts";
import { getLanguage } from "../i18n/language.ts";
import { t } from "../i18n/t.tsx";
import { recipientsQuery } from "./email-queries.ts";

/** `languages` are those that a message can have. */
export function AddRecipient({ languages }: { languages: readonly string[] }) {
  const { workspace_id: workspaceId } = useSession();
  const [address, setAddress] = useState("");
  const [language, setLanguage] = useState(languages.includes(getLanguage()) ? getLanguage() : "en");
  const form = useFormReset(address === "");
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const adding = useMutation({
    mutationFn: (added: { address: string; language: string }) => emails.addRecipient({ workspaceId, ...added }),
    onSuccess: async (_, added) => {
      // The owner may have typed the next address in the meantime.
      setAddress((current) => (current === added.address ? "" : current));
      announce(t("The recipient was added."));
      await queryClient.invalidateQueries(recipientsQuery(workspaceId));
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    adding.mutate({ address, language });
  };
  return (
    <section className="panel" aria-label={t("Add recipient")}>
      <form ref={form} className="inline-form" onSubmit={submit}>
        <TextField
          label={t("E-mail address")}
          type="email"
          dir="ltr"
          required
          autoComplete="off"
          maxLength={limitsOf(AddRecipientRequestSchema.field.address).max}
          formatError={t("Write an address such as ada@example.com.")}
          value={address}
          onChange={({ target }) => setAddress(target.value)}
        />
        <SelectField
          label={t("Language")}
          options={languages.map((each) => [each, languageName(each)] as const)}
          value={language}
          onChange={setLanguage}
        />
        <Button type="submit" isDisabled={adding.isPending}>
          <Icon name="plus" />
          {adding.isPending ? t("Adding…") : t("Add recipient")}
        </Button>
      </form>
      {adding.error && (
        <p className="form-error" role="alert">
          {errorText(adding.error)}
        </p>
      )}
    </section>
  );
}
