/** Whether a text on the user's side was put there by the agent: only where no event tells what a person typed. */
export function isContextText(text: string): boolean {
  return CONTEXT.test(text)
}

// --- internal ---

const CONTEXT =
  /^\s*(<(user_instructions|environment_context|turn_aborted|skill|user_shell_command|subagent_notification|hook_prompt|ENVIRONMENT_CONTEXT)\b|# AGENTS\.md instructions)/
