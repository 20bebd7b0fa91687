import { useAnnounce } from "./announcements.tsx";
import { Icon } from "./icon.tsx";

export function CopyButton({ text, label }: { text: string; label: string }) {
  const announce = useAnnounce();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      announce("Copied.");
    } catch {
      announce("The browser does not allow copying. Select the text and copy it.", { isError: true });
    }
  };
  return (
    <button type="button" className="icon-button" aria-label={label} title={label} onClick={() => void copy()}>
      <Icon name="copy" />
    </button>
  );
}
