"""The binary formats of Office 97-2003 and Outlook: OLE compound files and the records in them."""
