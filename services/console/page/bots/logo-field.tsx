import { BotChangesSchema, UploadLogoRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation } from "@tanstack/react-query";
import { useRef } from "react";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { uploadLogo } from "../api/upload-logo.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { TextField } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";
import { LABELS } from "./bot-settings.ts";

const MAX_BYTES = limitsOf(UploadLogoRequestSchema.field.content).max;

type LogoFieldProps = { botSlug: string; value: string; onChange: (url: string) => void };

/** The address of a bot's logo. An uploaded picture gets an address on the chat's host. */
export function LogoField({ botSlug, value, onChange }: LogoFieldProps) {
  const { workspace_id: workspaceId } = useSession();
  const input = useRef<HTMLInputElement>(null);
  const announce = useAnnounce();
  const upload = useMutation({
    mutationFn: async (file: File) =>
      uploadLogo({ workspaceId, slug: botSlug, content: new Uint8Array(await file.arrayBuffer()) }),
    onSuccess: (url) => {
      onChange(url);
      announce(t("The logo was uploaded. Save to show it to visitors."));
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  const choose = (file: File | undefined) => {
    if (file === undefined) return;
    if (file.size > MAX_BYTES) announce(t("A logo may have at most 200 KiB."), { isError: true });
    else upload.mutate(file);
  };
  return (
    <div className="form logo-field">
      <TextField
        label={LABELS.logoUrl}
        hint={t("The address of a square picture, or upload one: PNG, JPEG, WebP or GIF, at most 200 KiB.")}
        formatError={t("Write the whole address, such as https://example.com/logo.png.")}
        type="url"
        maxLength={limitsOf(BotChangesSchema.field.logoUrl).max}
        placeholder="https://"
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      {/* Not disabled during the upload: a disabled button would lose the focus. */}
      <button
        type="button"
        className="button small"
        aria-disabled={upload.isPending || undefined}
        onClick={() => !upload.isPending && input.current?.click()}
      >
        <Icon name="upload" />
        {upload.isPending ? t("Uploading…") : t("Upload a logo")}
      </button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={t("Picture for the logo")}
        accept="image/png,image/jpeg,image/webp,image/gif"
        onChange={({ target }) => {
          choose(target.files?.[0]);
          target.value = "";
        }}
      />
    </div>
  );
}
