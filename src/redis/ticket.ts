/** Digits of a ticket; those of all nines never expire. */
const ticketDigits = 16

/**
 * What a script call may be carried out by, until the server's time that it names. Clients queue commands while they
 * have no connection, and may send them again after a lost reply; they keep these bytes, not a copy. So a ticket can be
 * dated when the command is sent, and made invalid when it is given up.
 */
export class Ticket {
  readonly bytes = Buffer.alloc(ticketDigits)

  /** Dates it: the script refuses it after that instant on the server's clock. */
  stamp(expiresAt: number): void {
    this.bytes.write(String(expiresAt).padStart(ticketDigits, '0'), 'latin1')
  }

  /** For calls on a clock that replaces the server's, in tests. */
  stampForever(): void {
    this.bytes.fill('9')
  }

  invalidate(): void {
    this.bytes.fill('0')
  }
}
