import type { ComponentProps } from "react";

type ButtonProps = Omit<ComponentProps<"button">, "disabled"> & { isDisabled?: boolean };

/**
 * A button that keeps the focus while it is disabled. With the attribute `disabled`, the browser would move the focus to the body, and a keyboard
 * user would have to start again at the top of the page.
 */
export function Button({ type = "button", className = "button", isDisabled = false, onClick, ...props }: ButtonProps) {
  return (
    <button
      {...props}
      type={type}
      className={className}
      aria-disabled={isDisabled || undefined}
      onClick={(event) => {
        if (isDisabled) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}
