/** Lines of columns, two spaces apart; the last column is not padded. Cells hold no colours. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string[] {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map(row => row[column]?.length ?? 0)))
  return all.map(row =>
    row
      .map((cell, column) => pad(cell, widths[column]!, column, row.length, right))
      .join('  ')
      .trimEnd(),
  )
}

// --- internal ---

function pad(cell: string, width: number, column: number, columns: number, right: readonly number[]): string {
  if (right.includes(column)) return cell.padStart(width)
  return column === columns - 1 ? cell : cell.padEnd(width)
}
